// What an editor knows of a task: what somebody looks at, what is wrong, that something changed.

import * as vscode from 'vscode';
import type { Place } from './protocol';

// More says nothing new of what the work is about.
const MAX_DIAGNOSTICS = 50;

/** What is asked of a folder, before a budget, pins and the like. */
export interface Task {
  query: string;
  folder: vscode.WorkspaceFolder;
  focus: readonly Place[];
  /** Whether it is about what changed since the last commit. */
  diff: boolean;
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

/** The task in words, about what the person looks at. */
export function about(query: string, folder: vscode.WorkspaceFolder): Task {
  const editor = vscode.window.activeTextEditor;
  const isWanted = vscode.workspace.getConfiguration('contextpack').get('editor.focus', true);
  const isSeen = editor !== undefined && vscode.workspace.getWorkspaceFolder(editor.document.uri) === folder;
  return { query, folder, focus: isSeen && isWanted ? [lookedAt(editor)] : [], diff: false };
}

/** The selected lines of the active editor. */
export function selection(): Task {
  const editor = vscode.window.activeTextEditor;
  const folder = editor && vscode.workspace.getWorkspaceFolder(editor.document.uri);
  if (!editor || !folder || editor.selection.isEmpty) {
    throw new Error('nothing is selected in a file of the workspace');
  }
  return { query: '', folder, focus: [lookedAt(editor)], diff: false };
}

/** The errors and warnings of a folder, those of the active editor's document first. */
export function diagnostics(folder: vscode.WorkspaceFolder): Task {
  const seen = vscode.window.activeTextEditor?.document.uri.toString();
  const found = vscode.languages
    .getDiagnostics()
    .filter(([uri]) => vscode.workspace.getWorkspaceFolder(uri) === folder)
    .sort(([a], [b]) => Number(b.toString() === seen) - Number(a.toString() === seen))
    .flatMap(([uri, all]) =>
      all
        .filter((one) => one.severity <= vscode.DiagnosticSeverity.Warning)
        .map(({ message, range }) => ({ message, place: place(uri, range) })),
    )
    .slice(0, MAX_DIAGNOSTICS);
  if (found.length === 0) {
    throw new Error(`there are no errors or warnings in ${folder.name}`);
  }
  const query = found.map((one) => one.message).join('\n');
  return { query, folder, focus: found.map((one) => one.place), diff: false };
}

/** What changed since the last commit. The server looks, since it knows what nobody may see. */
export function changes(folder: vscode.WorkspaceFolder): Task {
  return { query: '', folder, focus: [], diff: true };
}

function lookedAt({ document, selection: selected }: vscode.TextEditor): Place {
  return selected.isEmpty ? { uri: document.uri.toString() } : place(document.uri, selected);
}

function place(uri: vscode.Uri, { start, end }: vscode.Range): Place {
  const at = ({ line, character }: vscode.Position): { line: number; character: number } => ({ line, character });
  return { uri: uri.toString(), range: { start: at(start), end: at(end) } };
}
