// Keeps parsed templates for the next render, bounded by the memory that they take.
import type { Template } from 'liquidjs'
import { LRUCache } from 'lru-cache'
import { MEBIBYTE } from '../../rules/limits.ts'
import type { Cost } from './cheap.ts'

/** `url`: each value is percent-encoded. */
export type TemplateMode = 'html' | 'text' | 'url'

export interface ParsedPart {
  ok: true
  templates: Template[]
  /** What rendering it costs at most; null: nothing bounds that. */
  cost: Cost | null
}

/** What a source was parsed into, for each mode in which it was. */
interface Kept {
  bytes: number
  html: ParsedPart | null
  text: ParsedPart | null
  url: ParsedPart | null
}

const KEPT_MAX = 1_000
const KEPT_BYTES_MAX = 32 * MEBIBYTE
/** Measured, and rounded up: a text, an output or a tag by itself, and each word or sign in one. */
const TOKEN_BYTES = 1_100
const PIECE_BYTES = 250

// The source as it is is the key: one made from source and mode would be put together at each look.
let kept = create(KEPT_BYTES_MAX)

function create(bytesMax: number) {
  return new LRUCache<string, Kept>({ max: KEPT_MAX, maxSize: bytesMax })
}

/** Forgets what is kept, and keeps at most so many bytes from now on; 32 MiB unless it is called. */
export function boundKept(bytesMax: number): void {
  kept = create(bytesMax)
}

export function findParsed(source: string, mode: TemplateMode): ParsedPart | null {
  const found = kept.get(source)
  return found ? found[mode] : null
}

/** @param count of the tokens that the source was split into, and of the words and signs in its tags and outputs */
export function keepParsed(
  source: string,
  mode: TemplateMode,
  parsed: ParsedPart,
  count: { tokens: number; pieces: number },
): void {
  const all = kept.get(source) ?? { bytes: 2 * source.length, html: null, text: null, url: null }
  all.bytes += TOKEN_BYTES * count.tokens + PIECE_BYTES * count.pieces
  all[mode] = parsed
  // Deleted first, since a cache does not count anew what it holds already.
  kept.delete(source)
  kept.set(source, all, { size: all.bytes + 1 })
}

/** About the bytes of all that is kept. */
export const keptBytes = () => kept.calculatedSize
