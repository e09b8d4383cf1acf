// A chat's reply: where it comes from, and what the server found in it, in words.

import * as vscode from 'vscode';
import type { Reply } from './protocol';

/** The text that is selected, else the clipboard's: no chat hands its answer over. */
export async function replied(): Promise<string> {
  const editor = vscode.window.activeTextEditor;
  const selected = editor === undefined ? '' : editor.document.getText(editor.selection);
  const reply = selected.trim() === '' ? await vscode.env.clipboard.readText() : selected;
  if (reply.trim() === '') {
    throw new Error('copy the answer of the chat, or select it in an editor');
  }
  return reply;
}

/** What became of the names in a reply. */
export function inWords(told: Reply): string {
  const lists: [string, string[]][] = [
    ['Packed', told.pack === null ? [] : told.wanted],
    ['Shown before', told.shown],
    ['Left out', told.leftOut.map((one) => `${one.name} (${one.rule ?? one.reason})`)],
    ['In too many files', told.vague],
    ['Nowhere in the workspace', told.unknown],
  ];
  const said = lists.filter(([, names]) => names.length > 0).map(([what, names]) => `${what}: ${names.join(', ')}.`);
  return said.join(' ') || 'The answer names no file and no definition.';
}
