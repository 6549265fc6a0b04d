// The texts of a segment's mails: cheap ones are rendered while the segment is walked, others between two walks, so that
// no template is rendered for long under the contact's lock.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Renderer, renderInPlace, renderKey } from '../../mail/content/renderer.ts'
import type { RenderedEmail, TemplateParts, TemplateScope } from '../../mail/content/template.ts'
import { newOpaqueToken } from '../../mail/tracking/tokens.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { RenderPlaces } from './renderPlaces.ts'

/** Mails of one segment that wait or are rendered at once: fewer than a workspace may have. */
const AT_ONCE_MAX = 4
/**
 * What the first walk may spend on cheap mails, which are rendered in its own turn; each further walk may spend as much
 * more, so that one of them finds all of its texts even where this machine is busy.
 */
const WALK_MS_MAX = 30

interface Text {
  rendered: RenderedEmail
  /** The token of the unsubscribe link that stands in it. */
  token: string
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

/** Makes the texts of one segment. They are kept from walk to walk. */
export function createSegmentTexts(
  { renderer, renderPlaces, publicUrl }: Deps,
  workspaceId: WorkspaceId,
) {
  const known = new Map<string, Text>()
  const wanted = new Map<string, Wanted>()
  /** How often each was asked for in this walk: two mails may be the same but for their unsubscribe links. */
  const asked = new Map<string, number>()
  const allowance = createAllowance()
  const withLink = (scope: TemplateScope, token: string) => {
    return { ...scope, unsubscribe_url: `${publicUrl}/u/${token}` }
  }

  return {
    /** Forgets what the last walk asked for. */
    beginWalk(): void {
      wanted.clear()
      asked.clear()
      allowance.beginWalk()
    },
    /** The text of a mail; null when it has to be rendered first: then the walk goes on as if the mail were sent. */
    take(parts: TemplateParts, scope: TemplateScope): Text | null {
      const token = newOpaqueToken()
      const rendered = allowance.spend(() => renderInPlace(parts, withLink(scope, token)))
      if (rendered) return { rendered, token }
      const same = renderKey(workspaceId, parts, scope)
      const times = (asked.get(same) ?? 0) + 1
      asked.set(same, times)
      const key = `${same} ${times}`
      const text = known.get(key)
      if (!text) wanted.set(key, { parts, scope: withLink(scope, token), token })
      return text ?? null
    },
    /** @throws NotRendered when the walk met a mail without a text: nothing of it may be written */
    requireAll(): void {
      if (wanted.size > 0) throw new NotRendered()
    },
    /**
     * Renders what the last walk asked for, a few at a time.
     * @throws RendererBusy
     */
    async renderWanted(): Promise<void> {
      const giveBack = await renderPlaces.take(workspaceId)
      if (!giveBack) throw new RendererBusy()
      try {
        await forEachOf(wanted, AT_ONCE_MAX, async ([key, { parts, scope, token }]) => {
          // Other work of this process has its turn before each.
          await nextTurn()
          const rendered = await renderer.render(workspaceId, parts, scope)
          if (!rendered.ok && rendered.kind === 'busy') throw new RendererBusy()
          known.set(key, { rendered, token })
        })
      } finally {
        giveBack()
      }
    },
  }
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
      const begin = performance.now()
      const made = work()
      left_ms -= performance.now() - begin
      return made
    },
  }
}

/** Does the work for all of them, so many at once; after an error for no further one. */
async function forEachOf<T>(
  all: Iterable<T>,
  atOnce: number,
  work: (one: T) => Promise<void>,
): Promise<void> {
  let left = [...all]
  const inTurn = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one)
  }
  try {
    await Promise.all(Array.from({ length: atOnce }, inTurn))
  } finally {
    left = []
  }
}
