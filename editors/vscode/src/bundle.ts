// The bundle as a read-only document: it folds by file, and its headings lead to the source.

import * as vscode from 'vscode';
import type { Pack } from './protocol';
import { fileIn, type Packing } from './packing';

export const SCHEME = 'contextpack';

const EXTENSIONS = { markdown: 'md', xml: 'xml', plain: 'txt' } as const;
const EXPLANATION = vscode.Uri.from({ scheme: SCHEME, path: '/explanation.md' });

// The line above each file's part, with its path and its ranges of lines.
const HEADINGS = {
  markdown: /^`+ ?(?<path>.+?)(?::(?<lines>\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*))? ?`+(?: \(\w+\))?$/,
  xml: /^<file path="(?<path>[^"]*)"(?: lines="(?<lines>[\d,-]+)")?/,
  plain: /^==> (?<path>.+?)(?::(?<lines>\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*))?(?: \(\w+\))? <==$/,
} as const;

const RANGE = /\d+(?:-\d+)?/g;

/** One file's part in a text: its first line, its last, and where its ranges stand in the first. */
interface Section {
  path: string;
  heading: number;
  last: number;
  ranges: { column: number; text: string }[];
}

export class BundleDocuments
  implements vscode.TextDocumentContentProvider, vscode.FoldingRangeProvider, vscode.DocumentLinkProvider
{
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private explanation = '';

  readonly onDidChange = this.changed.event;

  constructor(private readonly packing: Packing) {
    packing.onDidChange(() => packing.pack && this.changed.fire(uriOf(packing.pack)));
  }

  async show(pack: Pack): Promise<void> {
    await shown(uriOf(pack));
  }

  /** Show an explanation, in Markdown, in the place of the last one. */
  async say(explanation: string): Promise<void> {
    this.explanation = explanation;
    this.changed.fire(EXPLANATION);
    await shown(EXPLANATION);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return uri.path === EXPLANATION.path ? this.explanation : (this.packing.pack?.text ?? '');
  }

  provideFoldingRanges(document: vscode.TextDocument): vscode.FoldingRange[] {
    return this.sections(document).map((part) => new vscode.FoldingRange(part.heading, part.last));
  }

  provideDocumentLinks(document: vscode.TextDocument): vscode.DocumentLink[] {
    const pack = this.packing.pack;
    return this.sections(document).flatMap((part) => {
      const file = fileIn(pack!, part.path); // Without a pack there are no sections.
      const length = document.lineAt(part.heading).text.length;
      if (part.ranges.length === 0) {
        return [new vscode.DocumentLink(new vscode.Range(part.heading, 0, part.heading, length), file)];
      }
      return part.ranges.map(({ column, text }, index) => {
        // The first link takes the path in.
        const start = index === 0 ? 0 : column;
        const range = new vscode.Range(part.heading, start, part.heading, column + text.length);
        return new vscode.DocumentLink(range, file.with({ fragment: `L${text.replace('-', '-L')}` }));
      });
    });
  }

  private sections(document: vscode.TextDocument): Section[] {
    const pack = this.packing.pack;
    // A document may be a moment behind its pack, or ahead of it.
    return pack && uriOf(pack).path === document.uri.path && pack.text === document.getText() ? sectionsOf(pack) : [];
  }
}

/** The parts of a pack's text. `items` stand in its order, so contents that look like headings are none. */
function sectionsOf(pack: Pack): Section[] {
  const lines = pack.text.split(/\r\n|\r|\n/);
  const heading = HEADINGS[pack.report.format];
  const found: Section[] = [];
  lines.forEach((line, number) => {
    const item = pack.items[found.length];
    const match = item && heading.exec(line);
    if (!item || match?.groups?.['path'] !== shownIn(pack, item.path)) {
      return;
    }
    const last = found.at(-1);
    if (last) {
      last.last = number - 1;
    }
    const listed = match.groups['lines'] ?? '';
    const at = line.lastIndexOf(listed);
    const ranges = [...listed.matchAll(RANGE)].map((one) => ({ column: at + one.index, text: one[0] }));
    found.push({ path: item.path, heading: number, last: lines.length - 1, ranges });
  });
  return found;
}

function shownIn(pack: Pack, path: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return pack.report.format === 'xml' ? path.replace(/[&<>"]/g, (char) => entities[char]!) : path;
}

function uriOf(pack: Pack): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/bundle.${EXTENSIONS[pack.report.format]}` });
}

/** Show a document where it is, or beside the code, without taking the keyboard from it. */
async function shown(uri: vscode.Uri): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  const ours = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.scheme === SCHEME);
  const free = vscode.window.activeTextEditor ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
  const viewColumn = ours?.viewColumn ?? free;
  await vscode.window.showTextDocument(document, { viewColumn, preserveFocus: true, preview: false });
}
