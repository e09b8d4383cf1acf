// A pack by keys, the view, pinning and leaving out, the budget, the clipboard, the chat; then
// the look from within.

import { existsSync } from 'node:fs';
import { run } from './workbench.mjs';

const [url, query] = process.argv.slice(2);

await run('pack', url, async (bench) => {
  const { page, seen } = bench;
  await page.keyboard.press('Control+k');
  await page.keyboard.press('Control+Alt+p');
  await bench.answer('What do you want to do?', query);
  await bench.answer('Most tokens the bundle may have', '2k');
  seen.status = await bench.status('/2k', 'live');
  await bench.row('policy.py').waitFor();
  seen.rows = await bench.rows();
  await bench.picture('packed');

  await bench.press('policy.py', 'Leave Out of This Pack');
  await bench.row('Left out by you').waitFor();
  seen.leftOut = await bench.rows();
  await bench.press('policy.py', 'Take Back into This Pack');
  await bench.row('Left out by you').waitFor({ state: 'detached' });
  await bench.press('policy.py', 'Pin');
  await bench.row('policy.py').locator('.codicon-pinned').first().waitFor();
  seen.pinned = await bench.rows();

  await bench.command('ContextPack: Copy Bundle');
  await page.getByText('Copied the bundle').waitFor();
  seen.clipboard = await bench.clipboard();

  await bench.command('ContextPack: Send Bundle to Chat');
  await bench.toast('the chat was asked to take it').waitFor();
  await page.locator('.chat-attached-context-attachment', { hasText: 'context-pack.md' }).waitFor();
  await bench.picture('chat');

  await bench.command('ContextPack: Set Budget...');
  await bench.answer('Most tokens the bundle may have', '8k');
  seen.budget = await bench.status('/8k');
  await bench.command('ContextPack: Toggle Live Pack');
  await bench.statusWithout('live');
  await bench.command('ContextPack: Toggle Live Pack');
  await bench.status('live');

  await bench.command('ContextPack Tests: Look');
  while (!existsSync(process.env.SEEN)) {
    await page.waitForTimeout(100);
  }
  await bench.picture('looked');

  await bench.command('ContextPack: Why Is This File (Not) In?');
  await bench.choose('src/lending/policy.py: ', 'Details');
  const said = page.locator('.view-line', { hasText: 'the bundle: ' }).first();
  await said.waitFor();
  seen.why = (await said.innerText()).replaceAll('\u00a0', ' ');
  await bench.picture('why');

  // Alone: before, the first command that was asked for did it. A view that is seen does, too, so
  // another folder is opened, in which none was.
  await page.goto(`${url}/docs`);
  await bench.ready();
  await bench.command('ContextPack Tests: Activate');
  seen.activation = await page.getByText(/^(Activated|Active already, again) in/).innerText();
  await bench.picture('activated');
});
