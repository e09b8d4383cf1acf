// A workspace that nobody trusts, which names a program to run; there is no other server.

import { run } from './workbench.mjs';

const [url] = process.argv.slice(2);

await run('restricted', url, async (bench) => {
  await bench.page.getByText('Restricted Mode').first().waitFor();
  await bench.command('ContextPack: Pack Context for Query...');
  await bench.answer('What do you want to do?', 'objections');
  await bench.answer('Most tokens the bundle may have', '2k');
  const toast = bench.toast('found no contextpackd');
  await toast.waitFor();
  bench.seen.said = await toast.innerText();
  await bench.picture('restricted');
});
