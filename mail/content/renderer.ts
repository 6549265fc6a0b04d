// Renders emails: in place when that is provably cheap, otherwise in the threads of a child process.
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { limits } from '../../rules/limits.ts'
import { type Cost, sizeMaxOf, sizeOfValues } from './cheap.ts'
import { parsePart } from './liquid.ts'
import type { RenderResult } from './pool/messages.ts'
import { createPool, type PoolAnswer, type PoolLog, type PoolOptions } from './pool/pool.ts'
import {
  type RenderedEmail,
  type RenderFailure,
  renderEmail,
  sourcesOf,
  type TemplateParts,
  type TemplateScope,
} from './template.ts'

/** Renders whose templates were too slow or too large, so that the same request costs nothing again. */
const REMEMBERED_MAX = 1_000
const REMEMBERED_MS = 5 * 60 * 1000
/** A render that was starved so often within an hour is too slow: on a machine that is busy for long it would be tried without end. */
const STARVED_MAX = 5
const STARVED_MS = 60 * 60 * 1000
/** Counting the values is itself work: with more of them a render goes to the pool. */
const COUNTED_SIZE_MAX = 2_000_000

export interface Renderer {
  /**
   * Renders an email. Never rejects: a template that cannot be rendered is a failure of kind `fault` or `too_slow`, and
   * `busy` says that this process has too much to render now, or that the machine gave the render too little of its processor: the
   * same may be asked again later.
   */
  render(workspaceId: string, parts: TemplateParts, scope: TemplateScope): Promise<RenderedEmail>
  /** Starts the child process ahead of the first render that needs it. */
  warm(): void
  /** The id of the child process while it runs. */
  pid(): number | undefined
  /** Ends the child process. Renders that wait are answered `busy`. */
  close(): Promise<void>
}

/** @returns null when the template must be rendered by the pool: it might take long for these values */
export function renderInPlace(parts: TemplateParts, scope: TemplateScope): RenderedEmail | null {
  const costs: Cost[] = []
  for (const { source, mode } of sourcesOf(parts)) {
    const parsed = parsePart(source, mode)
    // Rendering it says what is wrong with it.
    if (!parsed.ok) break
    if (!parsed.cost) return null
    costs.push(parsed.cost)
  }
  const max = Math.min(sizeMaxOf(costs), COUNTED_SIZE_MAX)
  return max >= 0 && sizeOfValues(scope, max) <= max ? renderEmail(parts, scope) : null
}

/** What makes two renders the same, but for the unsubscribe link, which is another for each mail. */
function renderKey(workspaceId: string, parts: TemplateParts, scope: TemplateScope): string {
  const { unsubscribe_url, ...values } = scope
  const text = JSON.stringify([workspaceId, parts, values])
  return createHash('sha256').update(text).digest('base64')
}

/** What the metrics of a process hear of its renders. */
export interface RenderWatch {
  /** `in_place`, `remembered` (it was too slow or too large a moment ago), or what became of it in the pool. */
  rendered(outcome: 'in_place' | 'remembered' | PoolAnswer['kind']): void
  /** The child process ended by itself. */
  childEnded(): void
}

const nobody: RenderWatch = { rendered: () => undefined, childEnded: () => undefined }

export interface RendererOptions extends Pick<PoolOptions, 'pauseMs' | 'start'> {
  /** Renders of one workspace that may wait or be under way; 200 unless said. */
  eachMax?: number
  watch?: RenderWatch
}

/** Makes a renderer. Its child process starts with the first render that needs it, or with `warm`. */
export function createRenderer(
  log: PoolLog,
  { eachMax = 200, watch = nobody, ...others }: RendererOptions = {},
): Renderer {
  const pool = createPool(log, { ...others, eachMax, onChildEnd: watch.childEnded })
  const remembered = new LRUCache<string, RenderFailure>({
    max: REMEMBERED_MAX,
    ttl: REMEMBERED_MS,
  })
  const starved = new LRUCache<string, number>({ max: REMEMBERED_MAX, ttl: STARVED_MS })
  /** What the pool says, of a render that it could not give its time the last time. */
  const judged = (answer: PoolAnswer, keyOf: () => string): PoolAnswer => {
    if (answer.kind !== 'starved') return answer
    const key = keyOf()
    const count = (starved.get(key) ?? 0) + 1
    starved.set(key, count)
    return count < STARVED_MAX ? answer : { kind: 'too_slow', part: answer.part }
  }
  return {
    async render(workspaceId, parts, scope) {
      const rendered = renderInPlace(parts, scope)
      if (rendered) {
        watch.rendered('in_place')
        return rendered
      }
      const key = () => renderKey(workspaceId, parts, scope)
      const known = remembered.size > 0 && remembered.get(key())
      if (known) {
        watch.rendered('remembered')
        return known
      }
      const answer = judged(await pool.run(workspaceId, JSON.stringify({ parts, scope })), key)
      watch.rendered(answer.kind)
      if (answer.kind === 'done') return toEmail(answer.result)
      const failure = toFailure(answer)
      // The other failures may have had another cause than this template.
      if (answer.kind === 'too_slow' || answer.kind === 'out_of_memory') {
        remembered.set(key(), failure)
      }
      return failure
    },
    warm: pool.warm,
    pid: pool.pid,
    close: pool.close,
  }
}

const toEmail = (result: RenderResult): RenderedEmail =>
  typeof result === 'string' ? JSON.parse(result) : result

function toFailure(answer: Exclude<PoolAnswer, { kind: 'done' }>): RenderFailure {
  const fault = (message: string): RenderFailure => ({ ok: false, kind: 'fault', message })
  switch (answer.kind) {
    case 'too_slow':
      return { ok: false, kind: 'too_slow', part: answer.part, ms: limits.renderAgainMs }
    case 'out_of_memory':
      return fault('rendering it took over 64 MB of memory')
    case 'ended':
      return fault('it ended the process that rendered it, again and again')
    case 'failed':
      return fault('the thread that rendered it has failed')
    case 'too_large':
      return fault('it and its values have over 16 million characters')
    case 'starved':
    case 'busy':
      return { ok: false, kind: 'busy' }
    default:
      return answer satisfies never
  }
}
