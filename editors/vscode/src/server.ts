// The server's life: started by the first command that needs it, and again when it died.

import * as os from 'node:os';
import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { located } from './locate';
import { COMMANDS, PACK_CHANGED, PROTOCOL, type Command, type PackChanged, type PackFields } from './protocol';

const EXECUTE = 'workspace/executeCommand';

/** There is no server to start. The message says what to do. */
export class NoServer extends Error {
  constructor() {
    super('found no contextpackd: install it, or name its program in the settings');
  }
}

/** The server and we do not speak the same protocol. */
export class WrongProtocol extends Error {
  constructor(theirs: unknown) {
    super(`the server speaks protocol ${String(theirs)}, this extension ${PROTOCOL}; update the older one`);
  }
}

export class Server implements vscode.Disposable {
  private client: Promise<LanguageClient> | undefined;
  private output: vscode.LogOutputChannel | undefined;
  private readonly changed = new vscode.EventEmitter<PackChanged>();
  private readonly renewed = new vscode.EventEmitter<void>();

  /** A live pack has a new text. */
  readonly onPackChanged = this.changed.event;
  /** Another server took over: it holds no packs. */
  readonly onRenewed = this.renewed.event;

  /**
   * `chosen` shows what a code action of the server's asks for; `own` is the folder with the
   * server that this extension has installed, if it has.
   */
  constructor(
    private readonly chosen: (fields: PackFields) => Promise<void>,
    readonly own: string,
  ) {}

  get isStarted(): boolean {
    return this.client !== undefined;
  }

  get log(): vscode.LogOutputChannel {
    this.output ??= vscode.window.createOutputChannel('ContextPack', { log: true });
    return this.output;
  }

  /** The answer to one command. Starts the server if none runs. */
  async ask<Answer>(command: Command, fields: object, token?: vscode.CancellationToken): Promise<Answer> {
    const client = await this.started();
    const params = { command, arguments: [fields] };
    // A token that is undefined would be sent as a second parameter.
    return token === undefined
      ? client.sendRequest<Answer>(EXECUTE, params)
      : client.sendRequest<Answer>(EXECUTE, params, token);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.started();
    this.renewed.fire();
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    try {
      await (await client)?.dispose();
    } catch (error) {
      this.log.warn(`the server did not stop by the book: ${String(error)}`);
    }
  }

  dispose(): void {
    void this.stop();
    this.output?.dispose();
  }

  private started(): Promise<LanguageClient> {
    if (this.client === undefined) {
      const starting = this.start();
      this.client = starting;
      // The next command tries again.
      starting.catch(() => {
        if (this.client === starting) {
          this.client = undefined;
        }
      });
    }
    return this.client;
  }

  private async start(): Promise<LanguageClient> {
    const program = located(this.own);
    if (program === undefined) {
      throw new NoServer();
    }
    this.log.info(`starting ${[program.command, ...program.args].join(' ')}`);
    const { LanguageClient, State } = await import('./languageclient');
    // Not in the workspace, which may hold anything.
    const options = { command: program.command, args: program.args, options: { cwd: os.homedir() } };
    const client = new LanguageClient('contextpack', 'ContextPack', options, {
      documentSelector: [{ scheme: 'file' }, { scheme: 'untitled' }],
      outputChannel: this.log,
      synchronize: { configurationSection: 'contextpack' },
      middleware: {
        workspace: {
          configuration: (asked) =>
            asked.items.map((item) => (item.section === 'contextpack' ? settings() : null)),
        },
        executeCommand: async (command, args: unknown[], next) =>
          command === COMMANDS.pack ? this.chosen((args[0] ?? {}) as PackFields) : next(command, args),
      },
    });
    let hasRun = false;
    client.onDidChangeState((change) => {
      if (change.newState === State.Running && hasRun) {
        this.renewed.fire();
      }
      hasRun ||= change.newState === State.Running;
    });
    client.onNotification(PACK_CHANGED, (told: PackChanged) => this.changed.fire(told));
    await client.start();
    const theirs: unknown = client.initializeResult?.capabilities.experimental?.contextpack?.protocol;
    if (theirs !== PROTOCOL) {
      await client.dispose();
      throw new WrongProtocol(theirs);
    }
    return client;
  }
}

/** The server's settings that somebody set; the others are the repository's or the server's. */
function settings(): Record<string, unknown> {
  const all = vscode.workspace.getConfiguration('contextpack');
  const found: Record<string, unknown> = {};
  // Groups (`server`, `editor`) are ours.
  for (const name of Object.keys(all)) {
    const at = all.inspect(name);
    const isSet = [at?.globalValue, at?.workspaceValue, at?.workspaceFolderValue].some((value) => value !== undefined);
    if (isSet && typeof all.get(name) !== 'function') {
      found[name] = all.get(name);
    }
  }
  delete found['server'];
  delete found['editor'];
  return found;
}
