// What the extension does as other extensions see it. Writes what it saw to the file SEEN as
// JSON; nothing is judged here.

const fs = require('node:fs');
const vscode = require('vscode');

const QUERY = 'objections to a checkout';
const POLICY = 'src/lending/policy.py';
const REPLY = 'I need `Member.age_on` beside `objections_to_checkout`, and a `fee_table`.';
const LIMIT = 60_000; // Milliseconds that anything may take: machines are busy.

exports.activate = (context) => {
  // At the start: nobody has asked for anything.
  const extension = vscode.extensions.getExtension('contextpackd.contextpackd');
  const wasActive = extension.isActive;
  context.subscriptions.push(
    vscode.commands.registerCommand('contextpackTests.activate', async () => {
      const before = extension.isActive ? 'Active already, again' : 'Activated';
      await quiet();
      const [start, cpu] = [performance.now(), process.threadCpuUsage()];
      await extension.activate();
      const took = performance.now() - start;
      const { user, system } = process.threadCpuUsage(cpu);
      const busy = ((user + system) / 1000).toFixed(1);
      vscode.window.setStatusBarMessage(`${before} in ${took.toFixed(1)} ms, ${busy} of them busy`);
    }),
    vscode.commands.registerCommand('contextpackTests.look', async () => {
      const seen = { wasActive };
      try {
        await look(seen);
      } catch (error) {
        seen.error = error.stack ?? String(error);
      }
      fs.writeFileSync(`${process.env.SEEN}.part`, JSON.stringify(seen));
      fs.renameSync(`${process.env.SEEN}.part`, process.env.SEEN);
    }),
  );
};

async function look(seen) {
  const run = (name, ...args) => vscode.commands.executeCommand(`contextpack.${name}`, ...args);
  const root = vscode.workspace.workspaceFolders[0].uri;
  const policy = vscode.Uri.joinPath(root, POLICY);
  const file = { kind: 'file', path: POLICY };
  const paths = (pack) => pack.items.map((item) => item.path);
  const first = ({ query, items: [{ path, reasons }] }) => ({ query, path, reasons });

  const pack = await run('packQuery', QUERY);
  const bundle = vscode.workspace.textDocuments.find((document) => document.uri.scheme === 'contextpack');
  seen.pack = { text: pack.text, paths: paths(pack) };
  await until(bundle, (text) => text === pack.text);
  seen.bundle = { text: bundle.getText(), language: bundle.languageId };
  seen.folds = (await vscode.commands.executeCommand('vscode.executeFoldingRangeProvider', bundle.uri)).map(
    ({ start, end }) => [start, end],
  );
  seen.links = (await vscode.commands.executeCommand('vscode.executeLinkProvider', bundle.uri)).map((link) => [
    bundle.getText(link.range),
    link.target.toString(true),
  ]);

  await run('setBudget', 900);
  const without = await run('leaveOut', file);
  seen.leftOut = { paths: paths(without), why: (await run('whyEntry', policy)).because };
  const whole = await run('takeBack', file);
  seen.takenBack = paths(whole);
  const pinned = await run('pin', { kind: 'file', path: 'pyproject.toml' });
  const why = await run('whyEntry', vscode.Uri.joinPath(root, 'pyproject.toml'));
  seen.pinned = { paths: paths(pinned), tokens: pinned.tokens, why: [why.state, why.because] };
  await run('unpin', { kind: 'file', path: 'pyproject.toml' });

  await run('packQuery', QUERY);
  await edited(policy, 'the copy is withdrawn', 'the copy is gone');
  seen.followed = await until(bundle, (text) => text.includes('the copy is gone'));

  const made = await vscode.lm.invokeTool('contextpack_pack', {
    input: { query: QUERY, budgetTokens: 700 },
    toolInvocationToken: undefined,
  });
  seen.tool = made.content[0].value;

  const editor = await vscode.window.showTextDocument(policy);
  editor.selection = new vscode.Selection(38, 0, 39, 0);
  seen.selection = first(await run('packSelection'));
  const found = vscode.languages.createDiagnosticCollection('inside');
  found.set(policy, [new vscode.Diagnostic(new vscode.Range(41, 0, 41, 1), 'withdrawn copies', 0)]);
  seen.diagnostics = first(await run('packDiagnostics'));
  found.dispose();
  const settings = vscode.workspace.getConfiguration('contextpack');
  await settings.update('task', true, true);
  await vscode.workspace.fs.writeFile(vscode.Uri.joinPath(root, '.env'), Buffer.from('TOKEN=hunter2'));
  const changes = await run('packChanges');
  seen.changes = { ...first(changes), text: changes.text };
  await settings.update('task', undefined, true);

  await run('explainPack');
  seen.explanation = vscode.workspace.textDocuments.find((one) => one.uri.path === '/explanation.md').getText();

  editor.selection = new vscode.Selection(0, 0, 0, 0);
  await run('packQuery', QUERY);
  await run('setBudget', 900);
  await vscode.env.clipboard.writeText(REPLY);
  const { pack: answer, ...names } = await run('packAnswer');
  await until(bundle, (text) => text === answer.text);
  seen.answer = { ...names, paths: paths(answer), budget: answer.budgetTokens };
  editor.selection = new vscode.Selection(0, 0, 0, 3);
  seen.selected = (await run('packAnswer')).pack;
  editor.selection = new vscode.Selection(0, 0, 0, 0);

  await run('packQuery', QUERY);
  await run('setBudget', 900);
  const { pid } = await run('status');
  process.kill(pid);
  await edited(policy, 'the copy is gone', 'the copy is lost');
  const text = await until(bundle, (now) => now.includes('the copy is lost'));
  seen.afterKill = { text, isAnother: (await run('status')).pid !== pid };

  await vscode.workspace.getConfiguration('chat').update('disableAIFeatures', true, true);
  seen.chatOff = { said: await run('sendToChat'), clipboard: await vscode.env.clipboard.readText() };
}

/** Wait until the other extensions have started. */
async function quiet() {
  for (let busy = 1, tries = 60; busy > 0.05 && tries > 0; tries -= 1) {
    const before = performance.eventLoopUtilization();
    await new Promise((resolve) => setTimeout(resolve, 500));
    busy = performance.eventLoopUtilization(before).utilization;
  }
}

async function edited(uri, before, after) {
  const document = await vscode.workspace.openTextDocument(uri);
  const at = document.getText().indexOf(before);
  const edit = new vscode.WorkspaceEdit();
  edit.replace(uri, new vscode.Range(document.positionAt(at), document.positionAt(at + before.length)), after);
  await vscode.workspace.applyEdit(edit);
  await document.save();
}

/** The document's text once it is as wanted. */
function until(document, isWanted) {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error(`the bundle stays: ${document.getText()}`)), LIMIT);
    const check = () => {
      if (isWanted(document.getText())) {
        clearTimeout(limit);
        listening.dispose();
        resolve(document.getText());
      }
    };
    const listening = vscode.workspace.onDidChangeTextDocument(check);
    check();
  });
}
