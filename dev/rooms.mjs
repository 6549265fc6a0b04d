// Which room may import which: the table, and the part of biome.json that enforces it. `node dev/rooms.mjs` writes it.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const CONFIG = join(import.meta.dirname, '..', 'biome.json')

/** A room by its name, or one of its folders or files alone. @type {Record<string, string[]>} */
export const mayImport = {
  rules: [],
  mail: ['rules', 'runtime/randomPool.ts', 'runtime/giveWay.ts'],
  db: ['rules'],
  runtime: ['rules', 'workflows/messages.ts'],
  commands: [
    'rules',
    'db',
    'mail/content/**',
    'mail/tracking/**',
    'mail/dkim/keys.ts',
    'runtime/secrets.ts',
    'runtime/batcher.ts',
    'runtime/fairBudget.ts',
  ],
  workflows: ['rules', 'activities/index.ts'],
  delivery: ['commands', 'db', 'rules', 'mail', 'runtime'],
  inbound: ['commands', 'db', 'rules', 'mail', 'runtime'],
  activities: [
    'commands',
    'delivery',
    'db',
    'rules',
    'mail',
    'runtime/gate.ts',
    'runtime/outbound.ts',
    'workflows/messages.ts',
  ],
  api: ['commands', 'db', 'rules', 'runtime', 'mail/content/**'],
  worker: [
    'activities',
    'commands',
    'db',
    'delivery',
    'inbound',
    'mail',
    'rules',
    'runtime',
    'workflows/messages.ts',
  ],
  operate: [
    'activities',
    'commands',
    'db',
    'delivery',
    'inbound',
    'mail',
    'rules',
    'runtime',
    'worker',
    'workflows/messages.ts',
  ],
}

/** What a room that writes by commands alone may import of db/: reads, and how a process comes to a database. */
const dbReads = [
  'clock.ts',
  'connect.ts',
  'failures.ts',
  'listen.ts',
  'migrate.ts',
  'schema.ts',
  'scope.ts',
  'settings.ts',
  'shares.ts',
  'spare.ts',
  'wake.ts',
  '*/reads.ts',
  '*/*Reads.ts',
  'emails/ofExecutions.ts',
]
const noDbWrites = (room) => ({
  group: ['**/db/**', ...dbReads.map((file) => `!**/db/${file}`)],
  message: `${room}/ changes nothing but by a command; of db/ it may import: ${dbReads.join(', ')}`,
})

/** Further packages and files that a room has no use for. */
const never = {
  // zod describes node kinds; addresses, public suffixes and time zones are read by libraries that are as pure.
  rules: [
    {
      group: ['**', '!./**', '!../**', '!zod', '!node:net', '!tldts', '!temporal-polyfill'],
      message:
        'rules/ is pure: rules and zod; node:net and tldts in rules/mail/, temporal-polyfill in rules/time/zones.ts',
    },
  ],
  workflows: [
    {
      group: ['**/rules/nodes/**'],
      message: 'node kinds bring zod, which the bundle has no use for',
    },
    {
      group: ['node:*', 'zod', 'pino', 'kysely', 'pg'],
      message:
        'workflow code is deterministic: @temporalio/workflow, @temporalio/common and rules/ alone',
    },
  ],
  commands: [
    {
      group: ['@temporalio/**', 'hono', '@hono/**'],
      message: 'a command knows nothing of who asks',
    },
  ],
  inbound: [noDbWrites('inbound')],
  delivery: [{ group: ['@temporalio/**'], message: 'the engine of a lane knows no Temporal' }],
  api: [noDbWrites('api')],
}

const others = ['dev', 'bench', 'test']
const DEPTH_MAX = 3

/** The overrides of one room. Relative paths differ by folder depth, so each depth has its own pattern. */
function overridesOf(room) {
  const may = mayImport[room]
  const rooms = [...Object.keys(mayImport), ...others]
  const wholes = may.filter((name) => !name.includes('/'))
  const parts = may.filter((name) => name.includes('/'))
  return Array.from({ length: DEPTH_MAX }, (_, i) => {
    const top = '../'.repeat(i + 1)
    const closed = rooms.filter((name) => name !== room && !wholes.includes(name))
    const opened = parts.map((part) => `!${top}${part}`)
    const group = [...closed.map((name) => `${top}${name}/**`), ...opened]
    const message = `${room}/ may import: ${[room, ...may].join(', ')}`
    const patterns = [{ group, message }, ...(never[room] ?? [])]
    return {
      includes: [`${room}/${'*/'.repeat(i)}*.ts`],
      linter: {
        rules: { style: { noRestrictedImports: { level: 'error', options: { patterns } } } },
      },
    }
  })
}

/** biome.json as the table has it. */
export function withTable(config) {
  const isOurs = (override) => override.linter?.rules?.style?.noRestrictedImports !== undefined
  const overrides = config.overrides.filter((override) => !isOurs(override))
  return { ...config, overrides: [...overrides, ...Object.keys(mayImport).flatMap(overridesOf)] }
}

export const readConfig = () => JSON.parse(readFileSync(CONFIG, 'utf8'))

if (process.argv[1] === import.meta.filename) {
  writeFileSync(CONFIG, `${JSON.stringify(withTable(readConfig()), null, 2)}\n`)
}
