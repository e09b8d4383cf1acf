// Two folders are open: which of them a pack is about is asked, and all of them may be.

import { run } from './workbench.mjs';

const [url, query] = process.argv.slice(2);

await run('folders', url, async (bench) => {
  const { page, seen } = bench;
  await bench.command('ContextPack: Pack Context for Query...');
  await bench.answer('Which folder is it about?', 'All folders');
  await bench.answer('What do you want to do?', query);
  await bench.answer('Most tokens the bundle may have', '2k');
  seen.status = await bench.status('/2k');
  await bench.row('mail/letters.py').waitFor();
  seen.rows = await bench.rows();
  await bench.picture('folders');

  await bench.row('mail/letters.py').click();
  seen.file = await page.locator('.tab.active', { hasText: 'letters.py' }).first().getAttribute('data-resource-name');
  // With a file in view its folder comes first.
  await bench.command('ContextPack: Pack Context for Query...');
  await page.waitForSelector('.quick-input-widget input[placeholder="Which folder is it about?"]');
  await page.keyboard.press('Enter');
  await bench.answer('What do you want to do?', query);
  await bench.answer('Most tokens the bundle may have', '2k');
  await bench.row('letters.py').waitFor();
  await bench.row('shop/src').waitFor({ state: 'detached' });
  seen.single = await bench.rows();
});
