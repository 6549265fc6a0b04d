// Starts a delivery worker and kills it: as deliveries pass a trace point, as its server has the dot, or at random.
import { writeFileSync } from 'node:fs'
import type { WorkflowClient } from '@temporalio/client'
import { expect } from 'vitest'
import type { DeliveryPoint } from '../../delivery/points.ts'
import { isAlive } from '../../dev/processes/processes.ts'
import { workflowIds } from '../../rules/wire.ts'
import { eventually } from './eventually.ts'
import type { TestProcess } from './processes.ts'
import type { createRandom } from './random.ts'
import type { Reply, SmtpSink } from './smtp.ts'

/** What a hanging worker is waited for. */
const HUNG_MS = 120_000

/** `dot`: the server has the dot and has not answered yet. The others are the worker's own trace points. */
export const killPoints = [
  'claim',
  'claimed',
  'compose',
  'composed',
  'mark',
  'marked',
  'dot',
  'replied',
  'settle',
  'settled',
] as const satisfies readonly (DeliveryPoint | 'dot')[]

export type KillMode = 'relay' | 'mx'

/** `random`: at any trace point, or as the server is asked for a recipient. */
export interface Kill {
  mode: KillMode
  at: (typeof killPoints)[number] | 'random'
}

/**
 * A reply after the dot. At the one that kills the worker the server answers when it is dead: what was sent is taken or
 * refused, which nobody hears.
 */
function untilDead(
  random: ReturnType<typeof createRandom>,
  dead: Promise<void>,
  onDot: () => void,
  goesOn: () => boolean,
): Reply {
  let answer = () => {}
  const hold = new Promise<void>((resolve) => {
    answer = resolve
  })
  return {
    at: 'dot',
    reply: random.next() < 0.5 ? '250 2.0.0 taken' : '451 4.3.0 not now',
    hold,
    onDot() {
      onDot()
      if (goesOn()) answer()
      else void dead.then(answer)
    },
  }
}

/**
 * Tells Temporal that the lane of a killed worker has ended, since only its silence would say so otherwise, after six seconds:
 * for tests of what workers do, not of how lanes move. The next worker that starts begins it anew.
 */
export async function endLane(client: WorkflowClient): Promise<void> {
  await client
    .getHandle(workflowIds.lane(0))
    .terminate()
    .catch(() => undefined)
}

/**
 * Makes what starts and kills the delivery worker.
 * @param given `plan`: the file that killAtPoint.mjs reads
 */
export function createKiller(given: {
  smtp: SmtpSink
  plan: string
  workers: ReadonlyMap<KillMode, TestProcess>
  client: WorkflowClient
}) {
  const { smtp, plan, workers, client } = given

  async function begin(mode: KillMode, when: string, options = { ready: false }) {
    const worker = workers.get(mode)
    if (!worker) throw new Error(`there is no worker for ${mode}`)
    await endLane(client)
    writeFileSync(plan, when)
    await worker.start(options)
    return worker
  }

  return {
    /** Runs the worker until it is killed. Resolves when the server has read all that it had written. */
    async killOnce({ mode, at }: Kill, random: ReturnType<typeof createRandom>): Promise<void> {
      const byServer = at === 'dot' || (at === 'random' && random.next() < 0.5)
      const count = random.between(1, at === 'random' ? 60 : 5)
      let worker: TestProcess | undefined
      let left = byServer ? count : 0
      let release = () => {}
      const dead = new Promise<void>((resolve) => {
        release = resolve
      })
      const killNow = () => {
        left -= 1
        if (left === 0) void worker?.kill()
      }
      smtp.setScript((_rcpt, attempt): Reply | undefined => {
        if (at === 'dot')
          return left > 0 ? untilDead(random, dead, killNow, () => left > 0) : undefined
        if (byServer && left > 0) killNow()
        return attempt === 1 && random.next() < 0.05
          ? { at: 'rcpt', reply: '451 4.3.0 later' }
          : undefined
      })
      const point = at === 'random' ? 'any' : at
      worker = await begin(mode, byServer ? '' : `${point} ${count}`)
      const { pid } = worker
      await eventually(
        () => {
          if (isAlive(pid))
            throw new Error(`the worker was not killed: ${at} ${count}, ${worker?.log()}`)
        },
        { deadline_ms: HUNG_MS },
      )
      release()
      smtp.setScript({})
      await eventually(() => expect(smtp.connections.open).toBe(0), { deadline_ms: HUNG_MS })
    },
    /** Runs the worker, which is killed no more. */
    async runOn(mode: KillMode): Promise<void> {
      smtp.setScript({})
      await begin(mode, '', { ready: true })
    },
  }
}
