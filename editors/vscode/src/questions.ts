// What an editor knows, as the words of a query: paths with lines first, which the server reads.

import * as vscode from 'vscode';

// More says nothing new of what the work is about.
const MAX_DIAGNOSTICS = 50;
const MAX_PATHS = 200;
const MAX_DIFF_CHARS = 20_000;
const MAX_SELECTION_CHARS = 20_000;

/** A query and the folder that it is about. */
export interface Words {
  query: string;
  folder: vscode.WorkspaceFolder;
}

// The part of the Git extension's API, version 1, that is used here.
interface Repository {
  rootUri: vscode.Uri;
  state: Record<'indexChanges' | 'workingTreeChanges' | 'untrackedChanges', readonly { uri: vscode.Uri }[]>;
  diff(cached?: boolean): Promise<string>;
}
interface GitExtension {
  getAPI(version: 1): { repositories: Repository[] };
}

/** The folder that the person looks at, or chooses; undefined if they choose none. */
export async function folderInView(): Promise<vscode.WorkspaceFolder | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length === 0) {
    throw new Error('no folder is open');
  }
  const seen = vscode.window.activeTextEditor?.document.uri;
  const around = seen === undefined ? undefined : vscode.workspace.getWorkspaceFolder(seen);
  return around ?? (folders.length === 1 ? folders[0] : vscode.window.showWorkspaceFolderPick());
}

/** The selected text of the active editor. */
export function selection(): Words {
  const editor = vscode.window.activeTextEditor;
  const folder = editor && vscode.workspace.getWorkspaceFolder(editor.document.uri);
  if (!editor || !folder || editor.selection.isEmpty) {
    throw new Error('nothing is selected in a file of the workspace');
  }
  const text = editor.document.getText(editor.selection).slice(0, MAX_SELECTION_CHARS);
  return { query: `${place(editor.document.uri, editor.selection.start.line)}\n${text}`, folder };
}

/** The errors and warnings of a folder, those of the active editor's document first. */
export function diagnostics(folder: vscode.WorkspaceFolder): Words {
  const seen = vscode.window.activeTextEditor?.document.uri.toString();
  const lines = vscode.languages
    .getDiagnostics()
    .filter(([uri]) => vscode.workspace.getWorkspaceFolder(uri) === folder)
    .sort(([a], [b]) => Number(b.toString() === seen) - Number(a.toString() === seen))
    .flatMap(([uri, found]) =>
      found
        .filter((one) => one.severity <= vscode.DiagnosticSeverity.Warning)
        .map((one) => `${place(uri, one.range.start.line)}: ${one.message}`),
    );
  if (lines.length === 0) {
    throw new Error(`there are no errors or warnings in ${folder.name}`);
  }
  return { query: lines.slice(0, MAX_DIAGNOSTICS).join('\n'), folder };
}

/** What is changed in the Git repository of a folder, staged or not: paths, then the difference. */
export async function changes(folder: vscode.WorkspaceFolder): Promise<Words> {
  const extension = vscode.extensions.getExtension<GitExtension>('vscode.git');
  const repositories = (await extension?.activate())?.getAPI(1).repositories ?? [];
  const around = repositories.filter((one) => isInside(folder.uri, one.rootUri) || isInside(one.rootUri, folder.uri));
  const paths = around.flatMap((one) =>
    [...one.state.indexChanges, ...one.state.workingTreeChanges, ...(one.state.untrackedChanges ?? [])].map((change) =>
      vscode.workspace.asRelativePath(change.uri, false),
    ),
  );
  const diffs = await Promise.all(around.flatMap((one) => [one.diff(true), one.diff(false)]));
  if (paths.length === 0) {
    throw new Error(`nothing is changed in a Git repository of ${folder.name}`);
  }
  const query = [...new Set(paths)].slice(0, MAX_PATHS).concat(diffs.join('\n').slice(0, MAX_DIFF_CHARS)).join('\n');
  return { query, folder };
}

/** A path and a line as compilers write them. */
function place(uri: vscode.Uri, line: number): string {
  return `${vscode.workspace.asRelativePath(uri, false)}:${line + 1}`;
}

function isInside(uri: vscode.Uri, folder: vscode.Uri): boolean {
  return `${uri.path}/`.startsWith(`${folder.path}/`);
}
