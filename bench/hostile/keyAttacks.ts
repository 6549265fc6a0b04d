// An attack by keys: two thousand requests a second with keys that nobody has.
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Attack } from './attack.ts'
import { createAgent, send } from './client.ts'

const PER_TICK = 40
const TICK_MS = 20
const CONNECTIONS = 100
const UNDER_WAY_MAX = 2_000

/** A key of the usual form, with random characters. */
const wrongKey = (right: string) =>
  right.slice(0, 4) +
  randomBytes(right.length)
    .toString('hex')
    .slice(0, right.length - 4)

export const wrongKeys: Attack = async ({ port, key }, count, stop) => {
  const agent = createAgent(CONNECTIONS)
  let underWay = 0
  while (!stop.aborted) {
    for (let i = 0; i < PER_TICK && underWay < UNDER_WAY_MAX; i++) {
      underWay += 1
      void send(agent, { port, path: '/v1/emails', key: wrongKey(key), method: 'GET' }).then(
        ({ status }) => {
          underWay -= 1
          count(status)
        },
      )
    }
    await pause(TICK_MS)
  }
  agent.destroy()
}
