// The part of `editors/PROTOCOL.md` that this client speaks. A test holds the names against
// the server's own tables.

export const PROTOCOL = 1;

export const COMMANDS = {
  pack: 'contextpack.pack',
  answer: 'contextpack.answer',
  live: 'contextpack.live',
  close: 'contextpack.close',
  explain: 'contextpack.explain',
  why: 'contextpack.why',
  export: 'contextpack.export',
} as const;

export type Command = (typeof COMMANDS)[keyof typeof COMMANDS];

export const PACK_CHANGED = 'contextpack/packChanged';

/** What is asked. A field that is null goes back to its default. */
export interface PackFields {
  query?: string;
  root?: string;
  roots?: string[];
  uri?: string;
  packId?: string;
  budgetTokens?: number | null;
  pins?: string[] | null;
  exclude?: string[] | null;
  only?: string[] | null;
  focus?: Place[] | null;
  diff?: boolean | null;
  ledger?: 'brief' | 'all';
}

/** What somebody looks at: a document, or a range of it, with 0-based positions. */
export interface Place {
  uri: string;
  range?: { start: { line: number; character: number }; end: { line: number; character: number } };
}

/** One file of a bundle. Lines are 1-based and inclusive. */
export interface Item {
  path: string;
  detail: 'whole' | 'chunks' | 'outline' | 'truncated';
  ranges: [number, number][];
  tokens: number;
  score: number;
  reasons: string[];
}

/** What became of one file. */
export interface Entry {
  path: string;
  outcome: 'whole' | 'chunks' | 'outline' | 'truncated' | 'excluded';
  reason: string;
  tokens: number | null;
  score: number | null;
  duplicateOf?: string;
  rule?: string;
}

export interface Pack {
  packId: string;
  revision: number;
  query: string;
  root?: string;
  /** In the place of `root`: the folders, by the names that their paths begin with. */
  roots?: { name: string; root: string }[];
  budgetTokens: number;
  tokens: number;
  exact: boolean;
  text: string;
  items: Item[];
  ledger: Entry[];
  ledgerCounts: Record<string, number>;
  report: { format: 'markdown' | 'xml' | 'plain'; warnings: { kind: string; message: string }[] };
}

/** What a chat's reply about a pack names. */
export interface Reply {
  wanted: string[];
  shown: string[];
  leftOut: { name: string; reason: string; rule: string | null }[];
  vague: string[];
  unknown: string[];
  /** What is wanted, or null if nothing is. */
  pack: Pack | null;
}

/** As what something is in a pack. */
export type Way = 'named' | 'chosen' | 'cut' | 'outline' | 'pointer' | 'along';

/** Why a file, or the part of it at a line, is in a pack or out. */
export interface Why {
  path: string;
  lines: [number, number] | null;
  state: 'in' | 'part' | 'out';
  way: Way | null;
  ranges: [number, number][];
  /** In a sentence. */
  because: string;
  rank: number | null;
  nRanked: number;
  score: number | null;
  cutScore: number;
  parts: Record<string, number>;
  /** How the parts make the score. */
  scoreRule: string;
  /** The smallest budget found that lets it in, or null if none up to `mostTokens` does. */
  admission: {
    budgetTokens: number | null;
    way: Way | null;
    /** A larger budget that leaves it out, and one above that asked for that lets it in again. */
    outAgainAt: number | null;
    inAgainAt: number | null;
    mostTokens: number;
    nUntried: number;
  } | null;
  /** What leaves the bundle when this is pinned, or put first. */
  displaces: { by: 'pin' | 'first'; fits: boolean; files: { path: string; gone: boolean }[] } | null;
}

export interface PackChanged {
  packId: string;
  revision: number;
}

export interface Explanation {
  query: string;
  nFiles: number;
  nRanked: number;
  unknownWords: string[];
  files: { path: string; score: number; parts: Record<string, number> }[];
}
