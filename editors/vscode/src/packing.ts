// The pack that is looked at: what was asked, what the server answered, and asking again.

import * as vscode from 'vscode';
import { COMMANDS, type Pack, type PackChanged, type PackFields, type Place } from './protocol';
import type { Server } from './server';

/** What is asked of one pack. */
export interface Question {
  query: string;
  /** The URIs of the workspace folders. */
  roots: readonly string[];
  budgetTokens: number | undefined;
  pins: readonly string[];
  leftOut: readonly string[];
  /** Names of files and definitions: nothing else is packed. */
  only: readonly string[];
  focus: readonly Place[];
  /** Whether it is about what changed since the last commit. */
  diff: boolean;
}

// `InvalidParams`, with the field in `data`.
const INVALID_PARAMS = -32602;

export class Packing implements vscode.Disposable {
  private question: Question | undefined;
  private answer: Pack | undefined;
  private asking: vscode.CancellationTokenSource | undefined;
  private live: boolean | undefined;
  private told: PackChanged | undefined;
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];

  /** The pack, or what is known of it, is another one. */
  readonly onDidChange = this.changed.event;

  constructor(private readonly server: Server) {
    this.subscriptions = [
      this.changed,
      server.onPackChanged((told) => {
        this.told = told;
        this.follow();
      }),
      server.onRenewed(() => this.renew()),
    ];
  }

  get pack(): Pack | undefined {
    return this.answer;
  }

  get asked(): Question | undefined {
    return this.question;
  }

  get isAsking(): boolean {
    return this.asking !== undefined;
  }

  get isLive(): boolean {
    return this.live ?? vscode.workspace.getConfiguration('contextpack').get('editor.live', true);
  }

  /** Ask for a pack of its own; the one before is let go. */
  async ask(question: Question): Promise<Pack> {
    const before = this.answer?.packId;
    const pack = await this.request(question, undefined);
    if (before !== undefined && before !== pack.packId) {
      // The server may have been another one, which has let it go already.
      this.server.ask(COMMANDS.close, { packId: before }).catch(() => undefined);
    }
    return pack;
  }

  /** Take a pack that the server made; the one before is let go. */
  async take(question: Question, pack: Pack): Promise<void> {
    this.asking?.cancel();
    const before = this.answer?.packId;
    this.question = question;
    this.answer = pack;
    this.changed.fire();
    if (before !== undefined) {
      this.server.ask(COMMANDS.close, { packId: before }).catch(() => undefined);
    }
    if (this.isLive) {
      await this.setLive(true);
    }
  }

  /** Ask for the same pack with something changed. */
  async change(changed: Partial<Question>): Promise<Pack> {
    if (this.question === undefined) {
      throw new Error('there is no pack yet; pack context first');
    }
    return this.request({ ...this.question, ...changed }, this.answer?.packId);
  }

  async setLive(isLive: boolean): Promise<void> {
    this.live = isLive;
    if (this.answer !== undefined) {
      await this.server.ask(COMMANDS.live, { packId: this.answer.packId, on: isLive });
    }
    this.changed.fire();
    if (isLive && this.question !== undefined) {
      await this.change({}); // The server tells of what changes from now on only.
    }
  }

  dispose(): void {
    this.asking?.cancel();
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private async request(question: Question, packId: string | undefined): Promise<Pack> {
    // Nobody waits for the answer to what was asked before.
    this.asking?.cancel();
    const asking = new vscode.CancellationTokenSource();
    this.asking = asking;
    this.changed.fire();
    try {
      const pack = await this.answered(question, packId, asking.token);
      if (!asking.token.isCancellationRequested) {
        this.question = question;
        this.answer = pack;
      }
      return pack;
    } finally {
      asking.dispose();
      if (this.asking === asking) {
        this.asking = undefined;
        this.changed.fire();
        this.follow();
      }
    }
  }

  private async answered(
    question: Question,
    packId: string | undefined,
    token: vscode.CancellationToken,
  ): Promise<Pack> {
    const { root, roots, ...rest } = fields(question);
    const place: PackFields = packId === undefined ? placed(question.roots) : { packId };
    try {
      const pack = await this.server.ask<Pack>(COMMANDS.pack, { ...rest, ...place }, token);
      if (packId !== undefined || !this.isLive) {
        return pack;
      }
      await this.server.ask(COMMANDS.live, { packId: pack.packId, on: true });
      // What changed while the pack was made found nobody who followed.
      return await this.server.ask<Pack>(COMMANDS.pack, { packId: pack.packId }, token);
    } catch (error) {
      // The server was another one, or has let the pack go.
      if (packId !== undefined && isUnknownPack(error)) {
        return this.answered(question, undefined, token);
      }
      throw error;
    }
  }

  /** Fetch the text that the server told of, if it is not here yet. */
  private follow(): void {
    const told = this.told;
    if (told === undefined || this.isAsking) {
      return; // Whoever asks looks here again.
    }
    this.told = undefined;
    if (this.answer?.packId === told.packId && told.revision > this.answer.revision) {
      this.change({}).catch((error: unknown) => this.server.log.warn(`could not follow: ${String(error)}`));
    }
  }

  private renew(): void {
    if (this.question !== undefined) {
      this.request(this.question, undefined).catch((error: unknown) =>
        this.server.log.warn(`could not pack again: ${String(error)}`),
      );
    }
  }
}

/** A question as the server's fields. What is not set is left to the settings. */
export function fields(question: Question): PackFields {
  const excluded = vscode.workspace.getConfiguration('contextpack').get<string[] | null>('exclude') ?? [];
  return {
    query: question.query,
    ...placed(question.roots),
    budgetTokens: question.budgetTokens ?? null,
    pins: question.pins.length > 0 ? [...question.pins] : null,
    only: question.only.length > 0 ? [...question.only] : null,
    focus: question.focus.length > 0 ? [...question.focus] : null,
    diff: question.diff || null,
    // A pack's own patterns stand in the place of the settings'.
    exclude: question.leftOut.length > 0 ? [...excluded, ...question.leftOut.map(pattern)] : null,
  };
}

/** Which folders are asked about, as the server's fields. */
export function placed(roots: readonly string[]): PackFields {
  const [root] = roots;
  return roots.length > 1 ? { roots: [...roots] } : root === undefined ? {} : { root };
}

/** The file that a path of a pack names. */
export function fileIn(pack: Pack, path: string): vscode.Uri {
  const home = pack.roots?.find(({ name }) => path.startsWith(`${name}/`));
  return home === undefined
    ? vscode.Uri.joinPath(vscode.Uri.file(pack.root ?? '/'), path)
    : vscode.Uri.joinPath(vscode.Uri.file(home.root), path.slice(home.name.length + 1));
}

/** The pattern, in git's syntax, of one path. */
function pattern(path: string): string {
  return '/' + path.replace(/[\\*?[\]]| +$/g, '\\$&');
}

function isUnknownPack(error: unknown): boolean {
  const { code, data } = error as { code?: unknown; data?: { field?: unknown } };
  return code === INVALID_PARAMS && data?.field === 'packId';
}
