// Reads README.md and docs/ as a reader does: fenced examples, links, and the places that links may lead to.
import { pagePaths, readPage } from '../../dev/docs/pages.ts'

export interface Fence {
  /** The first word behind the opening fence; '' where there is none. */
  language: string
  /** What follows the language there. */
  info: string
  text: string
  /** As `docs/workflows.md`. */
  page: string
  /** The line of the opening fence, counted from 1. */
  line: number
  /** The headings above it, outermost first. */
  headings: string[]
}

export interface Link {
  target: string
  page: string
  line: number
}

/** The fenced blocks of some pages, in order; of all pages where none are named. */
export function fencesOf(pages: readonly string[] = pagePaths()): Fence[] {
  return pages.flatMap((page) => readLines(page).fences)
}

/** The links of a page, those inside fences and code excepted. */
export function linksOf(page: string): Link[] {
  return readLines(page).prose.flatMap(({ text, line }) =>
    [...text.replace(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => ({
      target: target ?? '',
      page,
      line,
    })),
  )
}

/** Where a link into this page may lead, without `#`: headings as GitHub names them, and explicit ids. */
export function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>()
  const seen = new Map<string, number>()
  for (const { text } of readLines(page).prose) {
    for (const [, id] of text.matchAll(/<a (?:id|name)="([^"]+)">/g)) anchors.add(id ?? '')
    const heading = headingOf(text)
    if (!heading) continue
    const name = slug(heading.text)
    const count = seen.get(name) ?? 0
    seen.set(name, count + 1)
    anchors.add(count === 0 ? name : `${name}-${count}`)
  }
  return anchors
}

function headingOf(text: string): { level: number; text: string } | null {
  const found = /^(#{1,6}) (.+)$/.exec(text)
  return found?.[1] && found[2] ? { level: found[1].length, text: found[2].trim() } : null
}

/** GitHub's: lower case, without punctuation, hyphens for spaces. */
function slug(heading: string): string {
  const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  return plain
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
}

interface Page {
  fences: Fence[]
  prose: { text: string; line: number }[]
}

function readLines(page: string): Page {
  const read: Page = { fences: [], prose: [] }
  const headings: string[] = []
  let open: { fence: Fence; mark: string; lines: string[] } | null = null
  for (const [i, text] of readPage(page).split('\n').entries()) {
    const mark = /^(`{3,}|~{3,})/.exec(text)?.[1]
    if (open) {
      if (mark === open.mark && text.trim() === mark) {
        read.fences.push({ ...open.fence, text: `${open.lines.join('\n')}\n` })
        open = null
      } else open.lines.push(text)
    } else if (mark) {
      const [language = '', ...info] = text.slice(mark.length).trim().split(' ')
      const fence = { language, info: info.join(' '), text: '', page, line: i + 1 }
      open = { fence: { ...fence, headings: [...headings] }, mark, lines: [] }
    } else {
      const heading = headingOf(text)
      if (heading) headings.splice(heading.level - 1, headings.length, heading.text)
      read.prose.push({ text, line: i + 1 })
    }
  }
  if (open) throw new Error(`${page}:${open.fence.line}: a fence is opened and not closed`)
  return read
}
