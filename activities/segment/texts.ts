// The texts of a segment's mails: cheap ones are rendered while the segment is walked, others between two walks, so that
// no template is rendered for long under the contact's lock.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Renderer, renderInPlace } from '../../mail/content/renderer.ts'
import type { RenderedEmail, TemplateParts, TemplateScope } from '../../mail/content/template.ts'
import { newOpaqueToken } from '../../mail/tracking/tokens.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { createDigest } from './digest.ts'
import type { SegmentKept, Text } from './keptTexts.ts'
import type { RenderPlaces } from './renderPlaces.ts'

/** Mails of one segment that wait or are rendered at once. */
const AT_ONCE_MAX = 4
/**
 * What the first walk may spend on cheap mails, which are rendered in its own turn; each further walk may spend as much
 * more, so that one of them finds all of its texts even where this machine is busy.
 */
const WALK_MS_MAX = 30
/** How long one try renders before it leaves its place to another segment; its activity has 2 minutes. */
const TRY_MS_MAX = 30_000
/**
 * How long the mails of one segment may take in all tries. What is not rendered by then was too slow. A try that only waited,
 * or a process that stood still, is not the segment's fault and does not count.
 */
const SEGMENT_MS_MAX = 300_000

const TOO_SLOW: RenderedEmail = {
  ok: false,
  kind: 'too_slow',
  part: 'the mails of one segment',
  ms: SEGMENT_MS_MAX,
}

interface Wanted {
  parts: TemplateParts
  scope: TemplateScope
  token: string
}

export type SegmentTexts = ReturnType<typeof createSegmentTexts>

/** Thrown to roll back a walk that met a mail that is not rendered yet. */
export class NotRendered extends Error {
  override message = 'a mail of the segment is not rendered yet'
}

/** Thrown when too much of the workspace is being rendered: the segment comes again later. */
export class RendererBusy extends Error {
  override message = 'too much is being rendered now'
}

interface Deps {
  renderer: Renderer
  renderPlaces: RenderPlaces
  publicUrl: string
}

/** Makes the texts of one try of a segment. @param kept of earlier tries; what is rendered is added to it */
export function createSegmentTexts(
  { renderer, renderPlaces, publicUrl }: Deps,
  workspaceId: WorkspaceId,
  kept: SegmentKept,
) {
  const wanted = new Map<string, Wanted>()
  const allowance = createAllowance()
  const keys = createKeys()
  /** @returns false where there is no room for it now */
  async function renderOne([key, { parts, scope, token }]: [string, Wanted]): Promise<boolean> {
    const rendered = await renderer.render(workspaceId, parts, scope)
    if (!rendered.ok && rendered.kind === 'busy') return false
    kept.set(key, { rendered, token })
    return true
  }

  return {
    /** Forgets what the last walk asked for. */
    beginWalk(): void {
      wanted.clear()
      keys.beginWalk()
      allowance.beginWalk()
    },
    /** The text of a mail; null when it has to be rendered first: then the walk goes on as if the mail were sent. */
    take(parts: TemplateParts, scope: TemplateScope): Text | null {
      const token = newOpaqueToken()
      const whole = { ...scope, unsubscribe_url: `${publicUrl}/u/${token}` }
      const rendered = allowance.spend(() => renderInPlace(parts, whole))
      if (rendered) return { rendered, token }
      const key = keys.next(parts, scope)
      const text = kept.get(key)
      if (text || kept.spent_ms > SEGMENT_MS_MAX) return text ?? { rendered: TOO_SLOW, token }
      wanted.set(key, { parts, scope: whole, token })
      return null
    },
    /** @throws NotRendered when the walk met a mail without a text: nothing of it may be written */
    requireAll(): void {
      if (wanted.size > 0) throw new NotRendered()
    },
    /**
     * Renders what the last walk asked for, a few at a time.
     * @param signal ends it before the next mail
     * @throws RendererBusy; the signal's reason
     */
    async renderWanted(signal: AbortSignal): Promise<void> {
      const giveBack = await renderPlaces.take(workspaceId)
      if (!giveBack) throw new RendererBusy()
      const clock = startClock()
      const mayGoOn = () => !signal.aborted && clock() < TRY_MS_MAX
      const before = kept.count()
      try {
        if (await forEachOf(wanted, AT_ONCE_MAX, mayGoOn, renderOne)) return
      } finally {
        if (kept.count() > before) kept.spent_ms += Math.min(clock(), TRY_MS_MAX)
        giveBack()
      }
      throw signal.aborted ? signal.reason : new RendererBusy()
    },
  }
}

/** Names each mail of a walk by what it is made from. */
function createKeys() {
  /** How often each was asked for: two mails may be the same but for their unsubscribe links. */
  const asked = new Map<string, number>()
  const digest = createDigest()
  return {
    beginWalk: () => asked.clear(),
    next(parts: TemplateParts, scope: TemplateScope): string {
      const same = `${digest(parts)} ${digest(scope)}`
      const times = (asked.get(same) ?? 0) + 1
      asked.set(same, times)
      return `${same} ${times}`
    },
  }
}

/** @returns a function that tells how long ago that was, in ms */
function startClock(): () => number {
  const begin = performance.now()
  return () => performance.now() - begin
}

/** What is left of the time that a walk may spend on cheap mails. */
function createAllowance() {
  let walks = 0
  let left_ms = 0
  return {
    beginWalk(): void {
      walks += 1
      left_ms = walks * WALK_MS_MAX
    },
    /** @returns null when nothing is left */
    spend<T>(work: () => T): T | null {
      if (left_ms <= 0) return null
      const clock = startClock()
      const made = work()
      left_ms -= clock()
      return made
    },
  }
}

/**
 * Does the work for all of them, so many at once. One for which there was no room is done after those under way.
 * @param work false: there was no room
 * @returns whether all were done; nothing goes on then
 */
async function forEachOf<T>(
  all: Iterable<T>,
  atOnce: number,
  mayGoOn: () => boolean,
  work: (one: T) => Promise<boolean>,
): Promise<boolean> {
  const left = [...all]
  const inTurn = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) {
      // Other work of this process has its turn before each.
      await nextTurn()
      if (mayGoOn() && (await work(one))) continue
      left.unshift(one)
      return
    }
  }
  await Promise.all(Array.from({ length: atOnce }, inTurn))
  return left.length === 0
}
