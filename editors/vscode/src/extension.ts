// Registers everything and starts nothing: the first command that needs the server starts it.

import * as vscode from 'vscode';
import { BundleDocuments, SCHEME } from './bundle';
import { PackTool, TOOL, sentToChat } from './chat';
import { Packing, fields, type Question } from './packing';
import { COMMANDS, type Entry, type Explanation, type Pack } from './protocol';
import { changes, diagnostics, folderInView, selection, type Words } from './questions';
import { NoServer, Server } from './server';
import { askedForBudget, askedForQuery, remembered } from './picks';
import { showStatus } from './status';
import { PackTree, about, type File } from './tree';

const VIEW = 'contextpack.pack';

export function activate(context: vscode.ExtensionContext): void {
  const server: Server = new Server(async ({ query, uri }) => {
    const folder = uri === undefined ? undefined : vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(uri));
    const here = folder ?? (await folderInView());
    if (here !== undefined) {
      await packed({ query: query ?? '', folder: here });
    }
  });
  const packing = new Packing(server);
  const documents = new BundleDocuments(packing);
  const tree = vscode.window.createTreeView(VIEW, { treeDataProvider: new PackTree(packing) });

  /** Ask, and show the bundle and the view. */
  async function packed({ query, folder }: Words, budgetTokens = packing.asked?.budgetTokens): Promise<Pack> {
    const question: Question = { query, root: folder.uri.toString(), budgetTokens, pins: [], leftOut: [] };
    const pack = await packing.ask(question);
    await remembered(context.workspaceState, query);
    await documents.show(pack);
    await vscode.commands.executeCommand(`${VIEW}.focus`, { preserveFocus: true });
    return pack;
  }

  function current(): Pack {
    if (packing.pack === undefined) {
      throw new Error('there is no pack yet; pack context first');
    }
    return packing.pack;
  }

  async function entryOf(path: string): Promise<Entry | undefined> {
    // A pack of its own: the one that is shown keeps its short ledger.
    const asked = { ...fields(packing.asked!), ledger: 'all' };
    const whole = await server.ask<Pack>(COMMANDS.pack, asked);
    await server.ask(COMMANDS.close, { packId: whole.packId });
    // An ignored folder is one entry for all that is in it.
    return whole.ledger.find((entry) => entry.path === path || path.startsWith(entry.path.replace(/\/?$/, '/')));
  }

  const actions: Record<string, (...args: never[]) => unknown> = {
    // Menus pass values of their own, so what is given is looked at.
    packQuery: async (given?: unknown) => {
      const folder = await folderInView();
      const query = typeof given === 'string' ? given : folder && (await askedForQuery(context.workspaceState));
      if (!folder || !query) {
        return undefined;
      }
      const last = packing.asked?.budgetTokens;
      const budget = query === given ? last : await askedForBudget(last);
      return budget === null ? undefined : packed({ query, folder }, budget);
    },
    packSelection: () => packed(selection()),
    packDiagnostics: async () => {
      const folder = await folderInView();
      return folder && packed(diagnostics(folder));
    },
    packChanges: async () => {
      const folder = await folderInView();
      return folder && packed(await changes(folder));
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
      await documents.explain(await server.ask<Explanation>(COMMANDS.explain, fields(packing.asked!)));
    },
    whyEntry: async (target?: vscode.Uri | File) => {
      const { root } = current();
      const uri = target instanceof vscode.Uri ? target : vscode.window.activeTextEditor?.document.uri;
      const path = target !== undefined && 'kind' in target ? target.path : uri && below(root, uri);
      if (path === undefined) {
        throw new Error(`the file is not in ${root}, which was packed`);
      }
      const entry = await entryOf(path);
      const reasons = packing.pack?.items.find((item) => item.path === path)?.reasons ?? [];
      const text = entry ? [about(entry), ...reasons].join('; ') : 'the server has not seen it';
      void vscode.window.showInformationMessage(`${path}: ${text}`);
      return text;
    },
    restartServer: () => server.restart(),
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
      tree.message = packing.asked?.query.split('\n', 1)[0] ?? '';
    }),
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, documents),
    vscode.languages.registerFoldingRangeProvider({ scheme: SCHEME }, documents),
    vscode.languages.registerDocumentLinkProvider({ scheme: SCHEME }, documents),
    vscode.lm.registerTool(TOOL, new PackTool(server, folderInView)),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('contextpack.server') && server.isStarted) {
        server.restart().catch(said);
      }
    }),
    ...Object.entries(actions).map(([name, action]) =>
      vscode.commands.registerCommand(`contextpack.${name}`, async (...args: never[]) => {
        try {
          return await action(...args);
        } catch (error) {
          return said(error);
        }
      }),
    ),
  );
}

/** The path of a file below a root, or undefined. */
function below(root: string, uri: vscode.Uri): string | undefined {
  const folder = `${vscode.Uri.file(root).path}/`;
  return uri.scheme === 'file' && uri.path.startsWith(folder) ? uri.path.slice(folder.length) : undefined;
}

/** Tell a person what went wrong. What was cancelled did not. */
function said(error: unknown): void {
  if (isCancellation(error)) {
    return;
  }
  const message = error instanceof Error ? error.message : String(error);
  const buttons = error instanceof NoServer ? ['Open Settings'] : ['Show Logs'];
  void vscode.window.showErrorMessage(`ContextPack: ${message}`, ...buttons).then((button) => {
    if (button === 'Open Settings') {
      void vscode.commands.executeCommand('workbench.action.openSettings', 'contextpack.server.command');
    } else if (button === 'Show Logs') {
      void vscode.commands.executeCommand('contextpack.showLogs');
    }
  });
}

function isCancellation(error: unknown): boolean {
  // What the protocol calls `RequestCancelled`.
  return error instanceof vscode.CancellationError || (error as { code?: unknown }).code === -32800;
}
