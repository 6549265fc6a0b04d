// The texts of a segment's mails: cheap ones are rendered while the segment is walked, others between two walks, so that
// no template is rendered for long under the contact's lock.
import { setTimeout as delay } from 'node:timers/promises'
import { type Renderer, renderInPlace, renderKey } from '../../mail/content/renderer.ts'
import type { RenderedEmail, TemplateParts, TemplateScope } from '../../mail/content/template.ts'
import { newOpaqueToken } from '../../mail/tracking/tokens.ts'

/** Mails of one segment that wait or are rendered at once: fewer than a workspace may have. */
const AT_ONCE_MAX = 4
const BUSY_PAUSE_MS = 250
/** How long mails of a segment wait for a busy renderer before the segment is tried again; its activity has 2 minutes. */
const BUSY_MS_MAX = 60_000

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

/** Makes the texts of one segment. They are kept from walk to walk. */
export function createSegmentTexts(
  { renderer, publicUrl }: { renderer: Renderer; publicUrl: string },
  workspaceId: string,
) {
  const known = new Map<string, Text>()
  const wanted = new Map<string, Wanted>()
  /** How often each was asked for in this walk: two mails may be the same but for their unsubscribe links. */
  const asked = new Map<string, number>()
  const withLink = (scope: TemplateScope, token: string) => ({
    ...scope,
    unsubscribe_url: `${publicUrl}/u/${token}`,
  })

  return {
    /** Forgets what the last walk asked for. */
    beginWalk(): void {
      wanted.clear()
      asked.clear()
    },
    /** The text of a mail; null when it has to be rendered first: then the walk goes on as if the mail were sent. */
    take(parts: TemplateParts, scope: TemplateScope): Text | null {
      const token = newOpaqueToken()
      const rendered = renderInPlace(parts, withLink(scope, token))
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
     * Renders what the last walk asked for, a few at a time, and waits where this process has too much to render now.
     * @throws Error when it waited for too long
     */
    async renderWanted(): Promise<void> {
      const until = performance.now() + BUSY_MS_MAX
      const left = [...wanted]
      const renderNext = async (): Promise<void> => {
        for (let next = left.shift(); next; next = left.shift()) {
          const [key, { parts, scope, token }] = next
          let rendered = await renderer.render(workspaceId, parts, scope)
          while (!rendered.ok && rendered.kind === 'busy') {
            if (performance.now() > until) throw new Error('too much is being rendered now')
            await delay(BUSY_PAUSE_MS)
            rendered = await renderer.render(workspaceId, parts, scope)
          }
          known.set(key, { rendered, token })
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE_MAX }, renderNext))
    },
  }
}
