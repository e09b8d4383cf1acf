// What an editor knows of a task: what somebody looks at, what is wrong, that something changed.

import * as vscode from 'vscode';
import type { Place } from './protocol';

// More says nothing new of what the work is about.
const MAX_DIAGNOSTICS = 50;

/** What is asked of folders, before a budget, pins and the like. */
export interface Task {
  query: string;
  folders: readonly vscode.WorkspaceFolder[];
  focus: readonly Place[];
  /** Whether it is about what changed since the last commit. */
  diff: boolean;
}

/** The folders that are open. */
export function openFolders(): readonly vscode.WorkspaceFolder[] {
  return vscode.workspace.workspaceFolders?.filter((folder) => folder.uri.scheme === 'file') ?? [];
}

/** The folder that is open, or those of several that the person chooses; undefined for none. */
export async function chosenFolders(): Promise<readonly vscode.WorkspaceFolder[] | undefined> {
  const folders = openFolders();
  if (folders.length === 0) {
    throw new Error('no folder is open');
  }
  if (folders.length === 1) {
    return folders;
  }
  const seen = vscode.window.activeTextEditor?.document.uri;
  const around = seen && vscode.workspace.getWorkspaceFolder(seen);
  // The one in view first: it is what Enter takes.
  const single = [...folders]
    .sort((a, b) => Number(b === around) - Number(a === around))
    .map((folder) => ({ label: folder.name, description: folder.uri.fsPath, folders: [folder] }));
  const all = { label: 'All folders', description: 'under one budget', folders };
  const title = 'Which folder is it about?';
  return (await vscode.window.showQuickPick([...single.slice(0, 1), all, ...single.slice(1)], { placeHolder: title }))?.folders;
}

/** The task in words, about what the person looks at. */
export function about(query: string, folders: readonly vscode.WorkspaceFolder[]): Task {
  const editor = vscode.window.activeTextEditor;
  const isWanted = vscode.workspace.getConfiguration('contextpack').get('editor.focus', true);
  const isSeen = editor !== undefined && isIn(editor.document.uri, folders);
  return { query, folders, focus: isSeen && isWanted ? [lookedAt(editor)] : [], diff: false };
}

/** The selected lines of the active editor. */
export function selection(): Task {
  const editor = vscode.window.activeTextEditor;
  const folder = editor && vscode.workspace.getWorkspaceFolder(editor.document.uri);
  if (!editor || !folder || editor.selection.isEmpty) {
    throw new Error('nothing is selected in a file of the workspace');
  }
  return { query: '', folders: [folder], focus: [lookedAt(editor)], diff: false };
}

/** The errors and warnings of some folders, those of the active editor's document first. */
export function diagnostics(folders: readonly vscode.WorkspaceFolder[]): Task {
  const seen = vscode.window.activeTextEditor?.document.uri.toString();
  const found = vscode.languages
    .getDiagnostics()
    .filter(([uri]) => isIn(uri, folders))
    .sort(([a], [b]) => Number(b.toString() === seen) - Number(a.toString() === seen))
    .flatMap(([uri, all]) =>
      all
        .filter((one) => one.severity <= vscode.DiagnosticSeverity.Warning)
        .map(({ message, range }) => ({ message, place: place(uri, range) })),
    )
    .slice(0, MAX_DIAGNOSTICS);
  if (found.length === 0) {
    throw new Error(`there are no errors or warnings in ${folders.map((folder) => folder.name).join(', ')}`);
  }
  const query = found.map((one) => one.message).join('\n');
  return { query, folders, focus: found.map((one) => one.place), diff: false };
}

/** What changed since the last commit. The server looks, since it knows what nobody may see. */
export function changes(folders: readonly vscode.WorkspaceFolder[]): Task {
  return { query: '', folders, focus: [], diff: true };
}

function isIn(uri: vscode.Uri, folders: readonly vscode.WorkspaceFolder[]): boolean {
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  return folder !== undefined && folders.includes(folder);
}

function lookedAt({ document, selection: selected }: vscode.TextEditor): Place {
  return selected.isEmpty ? { uri: document.uri.toString() } : place(document.uri, selected);
}

function place(uri: vscode.Uri, { start, end }: vscode.Range): Place {
  const at = ({ line, character }: vscode.Position): { line: number; character: number } => ({ line, character });
  return { uri: uri.toString(), range: { start: at(start), end: at(end) } };
}
