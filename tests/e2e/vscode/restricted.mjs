// A workspace that nobody trusts, which names a program to run. There is no other server, until
// the person has one installed: first in vain, then from the package that is put in its place.

import { copyFileSync } from 'node:fs';
import { run } from './workbench.mjs';

const [url, query, wheel, shelf] = process.argv.slice(2);

async function asked(bench) {
  await bench.answer('What do you want to do?', query);
  await bench.answer('Most tokens the bundle may have', '2k');
}

await run('restricted', url, async (bench) => {
  const { seen } = bench;
  await bench.page.getByText('Restricted Mode').first().waitFor();
  await bench.command('ContextPack: Pack Context for Query...');
  await asked(bench);
  seen.said = await bench.toast('found no contextpackd').innerText();
  await bench.picture('restricted');

  await bench.choose('found no contextpackd', 'Install...');
  seen.question = await bench.dialog('Install the ContextPack server?');
  await bench.picture('consent');
  await bench.agree('Cancel');
  await bench.command('ContextPack: Install Server...');
  await bench.dialog('Install the ContextPack server?');
  await bench.agree('Install');
  seen.failure = await bench.toast('could not install').innerText();

  copyFileSync(wheel, `${shelf}/${wheel.split('/').at(-1)}`);
  await bench.command('ContextPack: Pack Context for Query...');
  await asked(bench);
  await bench.choose('found no contextpackd', 'Install...');
  await bench.dialog('Install the ContextPack server?');
  await bench.agree('Install');
  // What could not be done goes on.
  await asked(bench);
  seen.status = await bench.status('/2k');
  await bench.picture('installed');

  // The next start finds it.
  await bench.reload();
  await bench.command('ContextPack: Pack Context for Query...');
  await asked(bench);
  seen.again = await bench.status('/2k');
});
