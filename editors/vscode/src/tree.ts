// The view "Context Pack": what is in, what was cut, and what is left out by which reason.

import * as vscode from 'vscode';
import type { Entry, Item, Pack } from './protocol';
import { fileIn, type Packing, type Question } from './packing';

const BAR_CELLS = 5; // A side bar is narrow.

const MAX_WARNINGS = 3; // The files are what the view is for.

// Reasons that no pin overrides.
const BARRED = new Set(['secret', 'binary', 'too-large', 'unreadable', 'symlink', 'special', 'submodule', 'empty']);

const ICONS = { whole: 'file', chunks: 'symbol-method', outline: 'list-tree', truncated: 'fold' } as const;

interface Group {
  kind: 'group';
  label: string;
  description: string;
  isOpen: boolean;
  files: File[];
}

/** One file of the view. */
export interface File {
  kind: 'file';
  path: string;
  item: Item | undefined;
  entry: Entry | undefined;
  context: 'in' | 'pinned' | 'out' | 'leftOut' | 'barred';
}

type Node = Group | File;

export class PackTree implements vscode.TreeDataProvider<Node> {
  readonly onDidChangeTreeData: vscode.Event<void>;

  constructor(private readonly packing: Packing) {
    this.onDidChangeTreeData = packing.onDidChange;
  }

  getChildren(node?: Node): Node[] {
    if (node !== undefined) {
      return node.kind === 'group' ? node.files : [];
    }
    const { pack, asked } = this.packing;
    return pack && asked ? groups(pack, asked) : [];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return node.kind === 'group' ? groupItem(node) : fileItem(node, this.packing.pack!);
  }
}

/** What a pack is about, and what its person should know of it. */
export function title(asked: Question, pack: Pack | undefined): string {
  const [words = ''] = asked.query.split('\n', 1);
  const what = asked.only.length > 0 ? `Only ${asked.only.join(', ')}` : asked.diff ? 'Current changes' : words || 'What you look at';
  const warned = pack?.report.warnings.slice(0, MAX_WARNINGS).map((one) => `⚠ ${one.message}`) ?? [];
  return [what, ...warned].join('\n');
}

/** Tokens as people say them: 941, 7.9k, 128k. */
export function shortly(tokens: number): string {
  if (tokens < 1000) {
    return String(tokens);
  }
  return tokens < 100_000 ? `${String(Math.floor(tokens / 100) / 10)}k` : `${Math.floor(tokens / 1000)}k`;
}

function groups(pack: Pack, asked: Question): Group[] {
  const files = pack.items.map((item): File => {
    const context = asked.pins.includes(item.path) ? 'pinned' : 'in';
    return { kind: 'file', path: item.path, item, entry: undefined, context };
  });
  const included = files.filter((file) => file.item?.detail !== 'truncated');
  const cut = files.filter((file) => file.item?.detail === 'truncated');
  const found = [group('Included', included, included.length, true)];
  if (cut.length > 0) {
    found.push(group('Cut', cut, cut.length, true));
  }
  if (asked.leftOut.length > 0) {
    // From the question: a short ledger need not name them.
    const ours = asked.leftOut.map((path): File => ({ kind: 'file', path, item: undefined, entry: undefined, context: 'leftOut' }));
    found.push(group('Left out by you', ours, ours.length, true));
  }
  const out = pack.ledger.filter((entry) => entry.outcome === 'excluded' && !asked.leftOut.includes(entry.path));
  for (const reason of new Set(out.map((entry) => entry.reason))) {
    const entries = out.filter((entry) => entry.reason === reason);
    const context = BARRED.has(reason) ? 'barred' : 'out';
    const left = entries.map((entry): File => ({ kind: 'file', path: entry.path, item: undefined, entry, context }));
    const ours = reason === 'excluded' ? asked.leftOut.length : 0;
    found.push(group(`Left out: ${reason}`, left, (pack.ledgerCounts[reason] ?? left.length) - ours, false));
  }
  return found;
}

function group(label: string, files: File[], total: number, isOpen: boolean): Group {
  const tokens = files.reduce((sum, file) => sum + (file.item?.tokens ?? 0), 0);
  const count = total > files.length ? `${files.length} of ${total}` : String(total);
  return { kind: 'group', label, description: tokens > 0 ? `${count} · ${shortly(tokens)} tok` : count, isOpen, files };
}

function groupItem(node: Group): vscode.TreeItem {
  const { Expanded, Collapsed } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(node.label, node.isOpen ? Expanded : Collapsed);
  item.id = node.label;
  item.description = node.description;
  item.contextValue = 'group';
  return item;
}

function fileItem(node: File, pack: Pack): vscode.TreeItem {
  const { item, entry } = node;
  const shown = new vscode.TreeItem(node.path);
  const tokens = item?.tokens ?? entry?.tokens;
  const sizes = typeof tokens === 'number' ? [shortly(tokens), item ? bar(tokens / pack.budgetTokens) : ''] : [];
  shown.id = `${node.context}:${node.path}`;
  shown.contextValue = node.context;
  shown.description = [...sizes, item?.detail ?? entry?.rule ?? ''].filter(Boolean).join(' ');
  shown.tooltip = item ? item.reasons.join('\n') : fate(entry);
  shown.iconPath = new vscode.ThemeIcon(node.context === 'pinned' ? 'pinned' : item ? ICONS[item.detail] : 'circle-slash');
  const first = item?.ranges[0];
  shown.command = {
    command: 'vscode.open',
    title: 'Open',
    arguments: [
      fileIn(pack, node.path),
      first ? { selection: new vscode.Range(first[0] - 1, 0, first[1] - 1, 0) } : {},
    ],
  };
  return shown;
}

/** What a ledger says of one file. */
function fate(entry: Entry | undefined): string {
  if (entry === undefined) {
    return '';
  }
  const parts = [
    entry.outcome === 'excluded' ? `left out: ${entry.reason}` : `in (${entry.outcome}): ${entry.reason}`,
    entry.rule && `by ${entry.rule}`,
    entry.duplicateOf && `like ${entry.duplicateOf}`,
    entry.tokens !== null && `${entry.tokens} tokens`,
    entry.score !== null && `score ${entry.score.toFixed(3)}`,
  ];
  return parts.filter(Boolean).join(', ');
}

function bar(share: number): string {
  const full = Math.min(BAR_CELLS, Math.ceil(share * BAR_CELLS));
  return '▰'.repeat(full) + '▱'.repeat(BAR_CELLS - full);
}
