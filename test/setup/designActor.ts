// Somebody outside, who does to waiting executions of drawn designs what their design was drawn with.
import { expect } from 'vitest'
import type { TestDatabase } from './database.ts'
import type { Running } from './designAudit.ts'
import type { createClient } from './harness.ts'
import type { createRandom } from './random.ts'

const POLL_MS = 50

/** Looks again and again which executions wait, and acts. Call `stop` in the end. */
export function createActor({ db }: TestDatabase, request: ReturnType<typeof createClient>) {
  const running: Running[] = []
  const faults: string[] = []
  const moved = new Set<string>()
  const paused = new Set<string>()
  let stopped = false

  async function act(one: Running, nodeId: string, segment: number): Promise<void> {
    const found = one.drawn.acts[nodeId]
    const place = `${one.id}:${nodeId}`
    if (!found || moved.has(place)) return
    if (found.ends === 'moved') moved.add(place)
    const { properties } = found
    const answer =
      found.does === 'post'
        ? await request('POST', '/v1/automation/events', {
            event_name: found.eventName,
            email: one.email,
            event_id: `${place}:${segment}`,
            properties,
          })
        : await request('PATCH', `/v1/automation/contacts/${one.email}`, { properties })
    if (answer.status >= 300)
      faults.push(`${place}: ${answer.status} ${JSON.stringify(answer.body)}`)
  }

  async function look(): Promise<void> {
    if (running.length === 0) return
    const waits = await db
      .selectFrom('event_waits as w')
      .innerJoin('executions as e', 'e.id', 'w.execution_id')
      .select(['w.execution_id', 'w.node_id', 'w.segment'])
      .where('w.consumed_by', 'is', null)
      .where('w.ended_by', 'is', null)
      .where('w.held_workflow_id', 'is', null)
      .where('e.ended_status', 'is', null)
      .execute()
    for (const { execution_id, node_id, segment } of waits) {
      const one = running.find(({ id }) => id === execution_id)
      if (one) await act(one, node_id, segment)
    }
  }

  const setStatus = (workflowId: string, status: string) =>
    request('PATCH', `/v1/workflows/${workflowId}`, { status })

  const looking = (async () => {
    while (!stopped) {
      await look().catch((err: unknown) => void faults.push(String(err)))
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  })()

  return {
    running,
    faults,
    add: (one: Running) => void running.push(one),
    /** Pauses some workflows that hold their executions, and makes those active that were paused before. */
    async holdSome(random: ReturnType<typeof createRandom>): Promise<void> {
      for (const id of paused) await setStatus(id, 'active')
      paused.clear()
      for (const { workflowId, drawn } of running.slice(-8)) {
        if (drawn.design.settings?.['on_pause'] !== 'hold' || random.next() < 0.3) continue
        await setStatus(workflowId, 'paused')
        paused.add(workflowId)
      }
    },
    /** Makes all workflows active. @throws while executions have not ended, but those of the workflow that waits for ever */
    async expectEnded(parked: string): Promise<void> {
      for (const id of paused) await setStatus(id, 'active')
      paused.clear()
      const open = await db
        .selectFrom('executions')
        .select('email')
        .where('ended_status', 'is', null)
        .where('workflow_id', '<>', parked)
        .execute()
      const emails = new Set(open.map(({ email }) => email))
      const seeds = running.filter(({ email }) => emails.has(email)).map(({ seed }) => seed)
      expect(seeds, 'seeds of designs whose executions have not ended').toEqual([])
    },
    async stop(): Promise<void> {
      stopped = true
      await looking
    },
  }
}
