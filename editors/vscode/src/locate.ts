// Where the server's program is. Knows nothing of the protocol.

import { accessSync, constants, statSync } from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';

export interface Program {
  command: string;
  args: string[];
}

const IS_WINDOWS = process.platform === 'win32';
const NAME = IS_WINDOWS ? 'contextpackd.exe' : 'contextpackd';
export const SCRIPTS = IS_WINDOWS ? 'Scripts' : 'bin';
const ENVIRONMENTS = ['.venv', 'venv'];

/**
 * The server's program: the setting's, the one of a trusted workspace's virtual environment, the
 * one of PATH, the one in the folder `own`; undefined if there is none. The setting's scope keeps
 * workspaces from setting it.
 */
export function located(own: string): Program | undefined {
  const set = vscode.workspace.getConfiguration('contextpack').get<string[]>('server.command', []);
  const [command, ...args] = set;
  if (command !== undefined) {
    return { command, args: [...args, 'lsp'] };
  }
  const [found] = [
    ...programs(environments(), NAME),
    ...onPath(NAME),
    ...programs([path.join(own, SCRIPTS)], NAME),
  ];
  return found === undefined ? undefined : { command: found, args: ['lsp'] };
}

/** The programs of this name in the directories of PATH, in their order. */
export function onPath(name: string): string[] {
  // A relative entry would be looked up in whatever directory we are in.
  return programs((process.env['PATH'] ?? '').split(path.delimiter).filter(path.isAbsolute), name);
}

function programs(folders: string[], name: string): string[] {
  return folders.map((folder) => path.join(folder, name)).filter(isProgram);
}

function environments(): string[] {
  if (!vscode.workspace.isTrusted) {
    return [];
  }
  const roots = (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === 'file');
  return roots.flatMap((folder) => ENVIRONMENTS.map((name) => path.join(folder.uri.fsPath, name, SCRIPTS)));
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
