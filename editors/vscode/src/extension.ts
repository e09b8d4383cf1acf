// Registers everything and starts nothing: the first command that needs the server starts it.

import * as vscode from 'vscode';
import { BundleDocuments, SCHEME } from './bundle';
import { PackTool, TOOL, sentToChat } from './chat';
import { Packing, fields, type Question } from './packing';
import { explanationText, whyText } from './explain';
import { COMMANDS, type Explanation, type Pack, type Reply, type Why } from './protocol';
import { about, changes, chosenFolders, diagnostics, openFolders, selection, type Task } from './questions';
import { NoServer, Server } from './server';
import { askedForBudget, askedForQuery, remembered } from './picks';
import { inWords, replied } from './replies';
import { showStatus } from './status';
import { PackTree, title, type File } from './tree';

const VIEW = 'contextpack.pack';

export function activate(context: vscode.ExtensionContext): void {
  const server: Server = new Server(async ({ query, uri }) => {
    const folder = uri === undefined ? undefined : vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(uri));
    const here = folder === undefined ? await chosenFolders() : [folder];
    if (here !== undefined) {
      await packed(about(query ?? '', here));
    }
  }, vscode.Uri.joinPath(context.globalStorageUri, 'server').fsPath);
  const packing = new Packing(server);
  const documents = new BundleDocuments(packing);
  const tree = vscode.window.createTreeView(VIEW, { treeDataProvider: new PackTree(packing) });

  /** Ask, and show the bundle and the view. */
  async function packed({ folders, ...task }: Task, budgetTokens = packing.asked?.budgetTokens): Promise<Pack> {
    const roots = folders.map((folder) => folder.uri.toString());
    const question: Question = { ...task, roots, budgetTokens, pins: [], leftOut: [], only: [] };
    const pack = await packing.ask(question);
    await shown(pack);
    return pack;
  }

  async function shown(pack: Pack): Promise<void> {
    await documents.show(pack);
    await vscode.commands.executeCommand(`${VIEW}.focus`, { preserveFocus: true });
  }

  function current(): Pack {
    if (packing.pack === undefined) {
      throw new Error('there is no pack yet; pack context first');
    }
    return packing.pack;
  }

  const actions: Record<string, (...args: never[]) => unknown> = {
    // Menus pass values of their own, so what is given is looked at.
    packQuery: async (given?: unknown) => {
      const folders = await chosenFolders();
      const query = typeof given === 'string' ? given : folders && (await askedForQuery(context.workspaceState));
      if (!folders || !query) {
        return undefined;
      }
      // Before anything can go wrong: nobody types it twice.
      await remembered(context.workspaceState, query);
      const task = about(query, folders);
      const last = packing.asked?.budgetTokens;
      const budget = query === given ? last : await askedForBudget(last);
      return budget === null ? undefined : packed(task, budget);
    },
    packSelection: () => packed(selection()),
    packDiagnostics: async () => {
      const folders = await chosenFolders();
      return folders && packed(diagnostics(folders));
    },
    packChanges: async () => {
      const folders = await chosenFolders();
      return folders && packed(changes(folders));
    },
    packAnswer: async () => {
      const { packId } = current();
      const asked = packing.asked!;
      const reply = await replied();
      const budget = asked.budgetTokens === undefined ? {} : { budgetTokens: asked.budgetTokens };
      const told = await server.ask<Reply>(COMMANDS.answer, { packId, reply, ...budget });
      if (told.pack !== null) {
        await packing.take({ ...asked, pins: [], focus: [], diff: false, only: told.wanted }, told.pack);
        await shown(told.pack);
      }
      void vscode.window.showInformationMessage(inWords(told));
      return told;
    },
    showBundle: () => documents.show(current()),
    setBudget: async (given?: unknown) => {
      current();
      const budget = typeof given === 'number' ? given : await askedForBudget(packing.asked?.budgetTokens);
      return budget === null ? undefined : packing.change({ budgetTokens: budget });
    },
    toggleLive: () => packing.setLive(!packing.isLive),
    copyBundle: async () => {
      await vscode.env.clipboard.writeText(current().text);
      vscode.window.setStatusBarMessage(`Copied the bundle: ${current().tokens} tokens`, 5000);
    },
    sendToChat: async () => {
      const storage = context.storageUri ?? context.globalStorageUri;
      const text = await sentToChat(server, current(), storage);
      void vscode.window.showInformationMessage(text);
      return text;
    },
    explainPack: async () => {
      current();
      await documents.say(explanationText(await server.ask<Explanation>(COMMANDS.explain, fields(packing.asked!))));
    },
    whyEntry: async (target?: vscode.Uri | File) => {
      const { packId } = current();
      const place = { packId, ...meant(target) };
      const working = { location: vscode.ProgressLocation.Window, title: 'ContextPack: asking why' };
      const found = await vscode.window.withProgress(working, () => server.ask<Why>(COMMANDS.why, place));
      const said = vscode.window.showInformationMessage(`${found.path}: ${found.because}`, 'Details');
      void said.then((button) => button && documents.say(whyText(found)));
      return found;
    },
    restartServer: () => server.restart(),
    installServer: async () => {
      const { version } = context.extension.packageJSON as { version: string };
      const { installed } = await import('./install');
      return installed(server.own, version, server.log);
    },
    showLogs: () => server.log.show(),
    pin: ({ path }: File) => packing.change({ pins: [...packing.asked!.pins, path] }),
    unpin: ({ path }: File) => packing.change({ pins: packing.asked!.pins.filter((one) => one !== path) }),
    leaveOut: ({ path }: File) => packing.change({ leftOut: [...packing.asked!.leftOut, path] }),
    // A pack of its own: a pack that follows another keeps what took the file's place.
    takeBack: ({ path }: File) => {
      const asked = packing.asked!;
      return packing.ask({ ...asked, leftOut: asked.leftOut.filter((one) => one !== path) });
    },
  };

  context.subscriptions.push(
    server,
    packing,
    tree,
    showStatus(packing),
    packing.onDidChange(() => {
      void vscode.commands.executeCommand('setContext', 'contextpack.hasPack', packing.pack !== undefined);
      tree.message = packing.asked === undefined ? '' : title(packing.asked, packing.pack);
    }),
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, documents),
    vscode.languages.registerFoldingRangeProvider({ scheme: SCHEME }, documents),
    vscode.languages.registerDocumentLinkProvider({ scheme: SCHEME }, documents),
    vscode.lm.registerTool(TOOL, new PackTool(server, () => openFolders().map((folder) => folder.uri.toString()))),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('contextpack.server') && server.isStarted) {
        server.restart().catch((error: unknown) => said(error));
      }
    }),
    ...Object.entries(actions).map(([name, action]) =>
      vscode.commands.registerCommand(`contextpack.${name}`, async (...args: never[]) => {
        try {
          return await action(...args);
        } catch (error) {
          return said(error, () => vscode.commands.executeCommand(`contextpack.${name}`, ...args));
        }
      }),
    ),
  );
}

/** The file that is asked about: of a menu, of the tree, or the selection of the active editor. */
function meant(target: vscode.Uri | File | undefined): { path: string; line?: number } {
  if (target !== undefined) {
    return { path: target instanceof vscode.Uri ? target.fsPath : target.path };
  }
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || editor.document.uri.scheme !== 'file') {
    throw new Error('open the file that you want to know about');
  }
  const path = editor.document.uri.fsPath;
  return editor.selection.isEmpty ? { path } : { path, line: editor.selection.start.line + 1 };
}

/** Tell a person what went wrong; `again` does what failed. What was cancelled did not go wrong. */
function said(error: unknown, again: () => unknown = () => undefined): void {
  if (isCancellation(error)) {
    return;
  }
  const message = error instanceof Error ? error.message : String(error);
  const buttons = error instanceof NoServer ? ['Install...', 'Open Settings'] : ['Show Logs'];
  void vscode.window.showErrorMessage(`ContextPack: ${message}`, ...buttons).then(async (button) => {
    if (button === 'Open Settings') {
      await vscode.commands.executeCommand('workbench.action.openSettings', 'contextpack.server.command');
    } else if (button === 'Show Logs') {
      await vscode.commands.executeCommand('contextpack.showLogs');
    } else if (button === 'Install...' && (await vscode.commands.executeCommand('contextpack.installServer')) === true) {
      await again();
    }
  });
}

function isCancellation(error: unknown): boolean {
  // What the protocol calls `RequestCancelled`.
  return error instanceof vscode.CancellationError || (error as { code?: unknown }).code === -32800;
}
