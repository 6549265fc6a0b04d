// Whatever order leaving, undoing, claims and ends of attempts come in: nobody who left before a claim is returned by it,
// receipts go, and nothing is lost that was not left.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { cancelExecution } from '../../commands/executions/cancel.ts'
import { suppressAddress } from '../../commands/suppressions/create.ts'
import { unsuppressAddress } from '../../commands/suppressions/delete.ts'
import { createTestApi } from '../setup/api.ts'
import { createLeaverHistory, MINUTE_MS } from '../setup/leaverHistory.ts'
import { createLeavers } from '../setup/leavers.ts'
import { createRandom } from '../setup/random.ts'

const ROUNDS = 15
const STEPS = 60

const clock = { time: Date.UTC(2126, 0, 1) }
const api = await createTestApi({ now: () => new Date(clock.time) })
const { db, deps, workspaceId } = api
const leavers = await createLeavers(api)

/** Lives one random history to its end. @returns the states in which its mails ended */
async function live(seed: number): Promise<string[]> {
  const random = createRandom(seed)
  const history = await createLeaverHistory({ api, leavers, clock, random, seed })
  const { people, mails, underWay, note, write, claimAll, stoppedNow } = history
  const { endOne, leave, undo, settleDue } = history

  const step = async () => {
    const [first, ...others] = people
    if (!first) return
    const person = random.pick([first, ...others])
    const before = stoppedNow()
    const what = random.pick([
      'mail',
      'mail',
      'receipt',
      'claim',
      'claim',
      'claim',
      'end',
      'end',
      'end',
      'end',
      'leave',
      'leave',
      'undo',
      'undo',
      'undo',
      'suppress',
      'allow',
      'cancel',
      'wait',
      'wait',
      'wait',
      'due',
      'race',
    ] as const)
    if (what === 'mail') await write(person, false)
    if (what === 'receipt') await write(person, true)
    if (what === 'claim') await claimAll(before, true)
    if (what === 'end') {
      await endOne(
        random.pick(['delivered', 'deferred', 'deferred', 'released', 'expired', 'gone']),
      )
    }
    if (what === 'leave')
      await leave(person, random.pick(['post', 'mail', 'get', 'get', 'get', 'complaint']))
    if (what === 'undo') await undo(person, random.pick(['undo', 'scan']))
    if (what === 'suppress') {
      await suppressAddress(deps, workspaceId, { email: person.email })
      person.isSuppressed = true
    }
    if (what === 'allow') {
      await unsuppressAddress(deps, workspaceId, { email: person.email })
      person.isSuppressed = false
    }
    if (what === 'cancel') {
      const { executionId } = person
      await cancelExecution(deps, workspaceId, { executionId, reason: null })
      person.isCancelled = true
    }
    if (what === 'wait') clock.time += random.between(1, 30_000)
    if (what === 'due') await settleDue()
    // Two lanes claim while somebody leaves: what was left before still stops.
    if (what === 'race') {
      const how = random.pick(['post', 'mail', 'get', 'complaint'] as const)
      await Promise.all([claimAll(before, false), leave(person, how), claimAll(before, false)])
    }
    note()
  }
  for (let i = 0; i < STEPS; i++) await step()

  // Everybody's mail goes on until nothing waits.
  for (let i = 0; i < 10; i++) {
    clock.time += MINUTE_MS
    note()
    await settleDue()
    await claimAll(stoppedNow(), false)
    while (underWay.size > 0) await endOne('delivered')
    note()
  }
  const rows = await db.selectFrom('deliveries').select(['id', 'state']).execute()
  for (const { id, state } of rows) {
    const one = mails.get(id)
    if (!one) throw new Error('a delivery nobody wrote')
    const fine = state === 'delivered' || state === 'bounced' || one.mayEnd
    expect(fine, `seed ${seed}: ${state}, and nobody left`).toBe(true)
    expect(['delivered', 'bounced', 'cancelled', 'suppressed']).toContain(state)
  }
  return rows.map(({ state }) => state)
}

test('random histories', { timeout: 240_000 }, async () => {
  const seen = new Map<string, number>()
  for (let seed = 1; seed <= ROUNDS; seed++) {
    await sql`truncate deliveries, outbox, suppressions`.execute(db)
    for (const state of await live(seed)) seen.set(state, (seen.get(state) ?? 0) + 1)
  }
  // The histories are worth something: every end occurs.
  for (const state of ['delivered', 'cancelled', 'suppressed']) {
    expect(seen.get(state) ?? 0).toBeGreaterThan(10)
  }
})
