// Names on the wire: equal to a golden file, and to those that workers, workflow functions and secrets use.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createActivities } from '../../activities/index.ts'
import * as wire from '../../rules/wire.ts'
import { parseConfig } from '../../runtime/config.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import * as workflowFunctions from '../../workflows/index.ts'
import { expectGolden } from '../setup/golden.ts'

/** A known MAC and a known seal for each purpose: the derived keys must not change. */
function knownMacs() {
  const secrets = createSecrets(Buffer.alloc(32, 7))
  return Object.fromEntries(
    wire.keyPurposes.map((purpose) => [
      purpose,
      {
        mac: secrets.mac(purpose)('known', 16).toString('base64url'),
        seal: secrets.seal(purpose, 'known', 'context'),
      },
    ]),
  )
}

test('no name changes', () => {
  const names = {
    ...wire,
    workflowIds: {
      lane: wire.workflowIds.lane(7),
      domain: wire.workflowIds.domain('dom_1'),
      schedule: wire.workflowIds.schedule('wf_1', 'start'),
      held: wire.workflowIds.held('wf_1'),
    },
    knownMacs: knownMacs(),
  }
  const sorted = Object.fromEntries(Object.entries(names).sort(([a], [b]) => (a < b ? -1 : 1)))
  expectGolden('wire.json', `${JSON.stringify(sorted, null, 2)}\n`)
})

test('workers offer the activities of these names', () => {
  const config = parseConfig({
    DATABASE_URL: 'postgres://127.0.0.1/none',
    SECRET_KEY: Buffer.alloc(32).toString('base64'),
    SMTP_URL: 'smtp://127.0.0.1:1',
  })
  // No dependency is used before an activity runs.
  const world = new Proxy(
    { config },
    { get: (deps, name) => Reflect.get(deps, name) ?? (() => world) },
  )
  const activities = createActivities(world as unknown as Parameters<typeof createActivities>[0])
  expect(Object.keys(activities).sort()).toEqual(Object.values(wire.activityTypes).sort())
})

test('workers offer the workflow functions of these names', () => {
  expect(Object.keys(workflowFunctions).sort()).toEqual(Object.values(wire.workflowTypes).sort())
})

test('every key purpose is used, and in one way', () => {
  const rooms = ['api', 'commands', 'delivery', 'inbound', 'activities', 'dev']
  const texts = rooms.flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(join(room, file), 'utf8')),
  )
  const uses = (method: string) =>
    new Set(
      texts.flatMap((text) =>
        [...text.matchAll(new RegExp(`\\.${method}\\('([^']+)'`, 'g'))].map(
          ([, purpose]) => purpose,
        ),
      ),
    )
  const [macs, seals, keys] = [uses('mac'), uses('seal'), uses('encrypt')]
  expect([...macs, ...seals, ...keys].sort()).toEqual([...wire.keyPurposes].sort())
  expect([uses('open'), uses('decrypt')]).toEqual([seals, keys])
})
