// The places of the renderer's child: one keeps its thread, and the one for second tries takes a fresh thread each time.
import { expect, onTestFinished, test } from 'vitest'
import type { Outcome } from '../../../mail/content/pool/messages.ts'
import { createSlot, createThreads } from '../../../mail/content/pool/threads.ts'
import { eventually } from '../../setup/eventually.ts'

const job = JSON.stringify({ parts: { subject: '{{ 1 }}', html: null, text: null }, scope: {} })
const SECONDS = 1_000

test.each([
  ['keeps its thread', false, 1],
  ['takes a fresh thread each time', true, 3],
])(
  'a place that %s',
  async (_, isFreshEach, expected) => {
    const real = createThreads()
    const taken: ReturnType<typeof real.take>[] = []
    const threads = {
      ...real,
      take() {
        const thread = real.take()
        taken.push(thread)
        return thread
      },
    }
    onTestFinished(async () => {
      // The spare among them: it is taken, and another one starts in its place, which ends by its own.
      for (const { worker } of taken) await worker.terminate()
    })
    const outcomes: Outcome[] = []
    const slot = createSlot(threads, (outcome) => void outcomes.push(outcome), isFreshEach)
    for (const id of [1, 2, 3]) {
      slot.run({ id, slot: 0, limit_ms: 60 * SECONDS, clock_ms: 60 * SECONDS, job })
      await eventually(() => expect(outcomes).toHaveLength(id), { deadline_ms: 30 * SECONDS })
    }
    expect(outcomes.map(({ kind }) => kind)).toEqual(['done', 'done', 'done'])
    expect(taken).toHaveLength(expected)
  },
  120 * SECONDS,
)
