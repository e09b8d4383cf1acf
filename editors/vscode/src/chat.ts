// Handing a bundle over. Nobody tells us whether a chat took it, so nothing here says that it did.

import * as vscode from 'vscode';
import { COMMANDS, type Pack } from './protocol';
import { placed } from './packing';
import type { Server } from './server';

const OPEN_CHAT = 'workbench.action.chat.open';
export const TOOL = 'contextpack_pack';

// A chat's input box holds a page; more is attached as a file.
const MAX_QUERY_CHARS = 4_000;

/** What was done with a bundle, in words for the person. */
export async function sentToChat(server: Server, pack: Pack, storage: vscode.Uri): Promise<string> {
  // First, because whatever happens below the bundle is then at hand.
  await vscode.env.clipboard.writeText(pack.text);
  if (vscode.workspace.getConfiguration('chat').get('disableAIFeatures') === true) {
    return 'The bundle is on the clipboard. AI features are switched off.';
  }
  if (!(await vscode.commands.getCommands(true)).includes(OPEN_CHAT)) {
    return 'The bundle is on the clipboard. There is no chat here.';
  }
  try {
    await vscode.commands.executeCommand(OPEN_CHAT, await offered(server, pack, storage));
  } catch (error) {
    server.log.warn(`the chat did not open: ${String(error)}`);
    return 'The bundle is on the clipboard. The chat did not open.';
  }
  return 'The bundle is on the clipboard, and the chat was asked to take it.';
}

async function offered(server: Server, pack: Pack, storage: vscode.Uri): Promise<object> {
  if (pack.text.length <= MAX_QUERY_CHARS) {
    return { query: pack.text, isPartialQuery: true };
  }
  await vscode.workspace.fs.createDirectory(storage);
  const file = vscode.Uri.joinPath(storage, 'context-pack.md');
  await server.ask(COMMANDS.export, { packId: pack.packId, file: file.fsPath });
  return { attachFiles: [file], query: '', isPartialQuery: true };
}

interface ToolInput {
  query: string;
  budgetTokens?: number;
}

/** The tool `#contextpack`: a bundle for a chat's own question. It leaves the person's pack alone. */
export class PackTool implements vscode.LanguageModelTool<ToolInput> {
  constructor(
    private readonly server: Server,
    private readonly roots: () => string[],
  ) {}

  async invoke(
    options: vscode.LanguageModelToolInvocationOptions<ToolInput>,
    token: vscode.CancellationToken,
  ): Promise<vscode.LanguageModelToolResult> {
    const { query, budgetTokens } = options.input;
    const asked = { query, ...(budgetTokens === undefined ? {} : { budgetTokens }), ...placed(this.roots()) };
    const pack = await this.server.ask<Pack>(COMMANDS.pack, asked, token);
    await this.server.ask(COMMANDS.close, { packId: pack.packId });
    return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(pack.text)]);
  }
}
