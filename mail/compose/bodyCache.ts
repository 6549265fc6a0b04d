// A cache of encoded bodies. A message with a known body only needs a new header and a signature.
import { hash } from 'node:crypto'
import { after, isLater, type MaybeLater } from '../../rules/later.ts'
import { unwatched, type Watched } from '../../rules/watched.ts'
import { textInTurns } from '../content/text.ts'
import { type BodySection, bodySection } from './bodySection.ts'
import type { ComposeInput } from './input.ts'

export interface BodyCacheLimits {
  /** Size of the whole cache. */
  bytesMax: number
  /** Longer bodies (in UTF-16 units) are not cached. */
  charsMax: number
}

export interface BodyOptions {
  once?: boolean
  watched?: Watched
}

export type Bodies = ReturnType<typeof createBodies>

export const bodyCacheLimits: BodyCacheLimits = {
  bytesMax: 64 * 1024 * 1024,
  charsMax: 1024 * 1024,
}
/** Estimated memory of an entry besides its bytes. */
const ENTRY_BYTES = 500

interface Entry {
  section: MaybeLater<BodySection>
  bytes: number
}

/** Makes a cache of encoded bodies by content. The least recently used ones are dropped first. */
export function createBodies(limits: BodyCacheLimits = bodyCacheLimits) {
  const kept = new Map<string, Entry>()
  let keptBytes = 0

  const forget = (key: string) => {
    keptBytes -= kept.get(key)?.bytes ?? 0
    kept.delete(key)
  }

  const grow = (entry: Entry, section: BodySection) => {
    entry.section = section
    entry.bytes += section.length_bytes
    keptBytes += section.length_bytes
    for (const oldest of kept.keys()) {
      if (keptBytes <= limits.bytesMax) break
      forget(oldest)
    }
  }

  return {
    /**
     * The body section of a message. Its boundary is derived from the content.
     * @param text null: made from the html
     * @param id of the email: the boundary of a body that is too long for the cache is derived from it
     * @param options `once`: true for content that no other message has, which is not cached; `watched`: for each piece of
     * synchronous work
     */
    of(
      { html, text, id }: Pick<ComposeInput, 'html' | 'text' | 'id'>,
      { once = false, watched = unwatched }: BodyOptions = {},
    ): MaybeLater<BodySection> {
      const chars = (html?.length ?? 0) + (text?.length ?? 0)
      if (chars > limits.charsMax) return make(html, text, id, watched)
      const key = contentKey(html, text)
      if (once) return make(html, text, key, watched)
      const known = kept.get(key)
      if (known) {
        // move it to the end, which is dropped last
        kept.delete(key)
        kept.set(key, known)
        return known.section
      }
      const section = make(html, text, key, watched)
      const entry: Entry = { section, bytes: ENTRY_BYTES }
      kept.set(key, entry)
      keptBytes += ENTRY_BYTES
      const ifKept = (act: () => void) => {
        if (kept.get(key) === entry) act()
      }
      if (isLater(section)) {
        section.then(
          (made) => ifKept(() => grow(entry, made)),
          () => ifKept(() => forget(key)),
        )
      } else grow(entry, section)
      return section
    },
    size: () => ({ entries: kept.size, bytes: keptBytes }),
  }
}

function make(
  html: string | null,
  text: string | null,
  seed: string,
  watched: Watched,
): MaybeLater<BodySection> {
  const plain = text ?? (html ? textInTurns(html, watched) : null)
  return after(plain, (ready) => bodySection(html, ready, seed, watched))
}

function contentKey(html: string | null, text: string | null): string {
  // The lengths separate html from text; -1 means null.
  const lengths = `${html?.length ?? -1}:${text?.length ?? -1}:`
  return hash('sha256', `${lengths}${html ?? ''}${text ?? ''}`, 'base64url')
}
