// VS Code in a browser, as a person uses it. One page; `done` prints what was seen as JSON.

import { createRequire } from 'node:module';

const { NODE_MODULES, CHROMIUM, PICTURES } = process.env;
const { chromium } = createRequire(`${NODE_MODULES}/`)('playwright-core');

const LIMIT = 60_000; // Milliseconds that anything may take: machines are busy.
const TRY = 5_000;
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];
const STATUS = '[id="contextpackd.contextpackd.contextpack.status"]';

export class Workbench {
  seen = {};

  static async open(url) {
    const browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, args: FLAGS });
    const context = await browser.newContext({ viewport: { width: 1360, height: 820 } });
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: new URL(url).origin });
    const page = await context.newPage();
    page.setDefaultTimeout(LIMIT);
    await page.goto(url);
    const bench = new Workbench(browser, page);
    await bench.ready();
    return bench;
  }

  /** Extensions, and with them keys and commands, come a while after the workbench. */
  async ready() {
    await this.page.waitForSelector('.activitybar .action-label[aria-label="ContextPack"]');
  }

  async reload() {
    await this.page.reload();
    await this.ready();
  }

  constructor(browser, page) {
    this.browser = browser;
    this.page = page;
  }

  /** Run a command by its name in the palette. */
  async command(title) {
    const row = this.page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first();
    // An open palette does not learn of commands that come later.
    for (let tries = LIMIT / TRY; ; tries -= 1) {
      await this.page.keyboard.press('F1');
      await this.page.waitForSelector('.quick-input-widget input');
      await this.page.keyboard.type(title);
      try {
        await row.waitFor({ timeout: TRY });
        break;
      } catch (error) {
        if (tries <= 0) {
          throw error;
        }
        await this.page.keyboard.press('Escape');
      }
    }
    await this.page.keyboard.press('Enter');
  }

  /** Type into the open picker and take its first entry. */
  async answer(placeholder, text) {
    await this.page.waitForSelector(`.quick-input-widget input[placeholder="${placeholder}"]`);
    await this.page.keyboard.type(text);
    await this.page.locator('.quick-input-list .monaco-list-row', { hasText: text }).first().waitFor();
    await this.page.keyboard.press('Enter');
  }

  row(text) {
    return this.page.locator('.tree-explorer-viewlet-tree-view .monaco-list-row', { hasText: text }).first();
  }

  /** A button of a row of the tree, which is there while the mouse is. */
  async press(text, button) {
    await this.row(text).hover();
    await this.row(text).locator(`.action-label[aria-label="${button}"]`).click();
  }

  async rows() {
    return this.page.locator('.tree-explorer-viewlet-tree-view .monaco-list-row').allInnerTexts();
  }

  /** Wait until the status bar's item says something, and return what. */
  async status(...parts) {
    await this.page.waitForFunction(
      ([selector, wanted]) => {
        const text = document.querySelector(selector)?.textContent ?? '';
        return wanted.every((part) => text.includes(part));
      },
      [STATUS, parts],
    );
    return this.page.locator(STATUS).innerText();
  }

  async statusWithout(part) {
    await this.page.waitForFunction(
      ([selector, unwanted]) => !document.querySelector(selector)?.textContent?.includes(unwanted),
      [STATUS, part],
    );
  }

  toast(text) {
    return this.page.locator('.notification-toast', { hasText: text }).first();
  }

  /** Press a button of a notification. */
  async choose(text, button) {
    await this.toast(text).locator('.monaco-button', { hasText: button }).click();
  }

  /** The words of a question that stops everything else. */
  async dialog(title) {
    const box = this.page.locator('.monaco-dialog-box', { hasText: title });
    await box.waitFor();
    return box.innerText();
  }

  async agree(button) {
    const box = this.page.locator('.monaco-dialog-box');
    await box.locator('.monaco-button', { hasText: button }).click();
    await box.waitFor({ state: 'detached' });
  }

  clipboard() {
    return this.page.evaluate(() => navigator.clipboard.readText());
  }

  async picture(name) {
    if (PICTURES) {
      await this.page.screenshot({ path: `${PICTURES}/${name}.png` });
    }
  }
}

/** Open a workbench, use it, and say what was seen; the process fails if anything did not come. */
export async function run(name, url, use) {
  const bench = await Workbench.open(url);
  try {
    await use(bench);
    console.log(JSON.stringify(bench.seen));
  } catch (error) {
    await bench.picture(`${name}-failed`);
    console.log(JSON.stringify(bench.seen));
    console.error(error);
    process.exitCode = 1;
  } finally {
    await bench.browser.close();
  }
}
