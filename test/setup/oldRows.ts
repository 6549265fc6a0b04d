// Rows of each table that is deleted by age: some that must go at one moment, and some that must stay.
// Long because it has the rows of each table.
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Db } from '../../db/connect.ts'
import type { Database } from '../../db/schema.ts'
import { firstIdAt } from '../../rules/ids.ts'
import { type RetentionDays, retentionNames, retentionSettings } from '../../rules/retention.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** The moment at which they are looked at. */
export const NOW = new Date(Date.UTC(2026, 5, 1))
/** A millisecond before, in days. */
const MS = 1 / DAY_MS
export const ago = (days: number) => new Date(NOW.getTime() - Math.round(days * DAY_MS))

export const usualDays = Object.fromEntries(
  retentionNames.map((name) => [name, retentionSettings[name].days]),
) as RetentionDays

interface OldRows {
  table: keyof Database
  /** Tells the rows apart. */
  label: RawBuilder<string>
  /** Which rows of the table count; absent: all. */
  which?: RawBuilder<SqlBool>
  gone: string[]
  stay: string[]
  write: (db: Db, ws: string) => Promise<void>
}

const idAt = (kind: 'email' | 'execution' | 'job', at: Date, label: string) =>
  `${firstIdAt(kind, at.getTime()).slice(0, -16)}${label}`
const uuidAt = (at: Date) => {
  const hex = at.getTime().toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000001`
}

/** @param settled null: it still waits. @returns its id */
async function insertDelivery(db: Db, ws: string, emailId: string, settled: Date | null) {
  const { rows } = await sql<{ id: number }>`
    insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at, created_at,
      settled_at)
    select ${emailId}::text, ${ws}::text, 'dom_1', 'r' || count(*) || '@mail.test', 1,
      ${settled ? 'suppressed' : 'queued'}::text, ${NOW}::timestamptz, ${NOW}::timestamptz, ${ago(900)}::timestamptz,
      ${settled}::timestamptz
    from deliveries returning id`.execute(db)
  return rows[0]?.id ?? 0
}

async function insertExecution(db: Db, ws: string, id: string, completed: Date | null) {
  await sql`
    insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id, ended_status,
      created_at, updated_at, completed_at)
    values (${id}, ${ws}, 'wf_1', 1, 'ct_1', 'a@mail.test', 'start', ${completed ? 'COMPLETED' : null}, ${ago(600)},
      ${ago(600)}, ${completed})`.execute(db)
}

/** Rows of a table of executions that ended at these times, and of one that has not. */
function ofExecutions(
  table: 'execution_segments' | 'execution_steps' | 'event_waits',
  place: number,
): OldRows {
  const columns = {
    execution_segments: sql`(execution_id, segment, result, engine, created_at) select g.id, n, '{}', 1, g.at`,
    execution_steps: sql`(execution_id, seq, segment, node_id, type, at) select g.id, n, n, 'n', 'exit', g.at`,
    event_waits: sql`(execution_id, segment, node_id, workspace_id, contact_id, consumed_by, created_at)
      select g.id, n, 'n', g.ws, 'ct_1', 'evt_1', g.at`,
  }
  return {
    table,
    label: sql`substr(t.execution_id, 15)`,
    gone: ['ended', 'ended', 'ended'],
    stay: ['ended lately', 'ended lately', 'ended lately', 'live', 'live', 'live'],
    async write(db, ws) {
      const rows: [string, number | null][] = [
        ['ended', 400],
        ['ended lately', 400 - MS],
        ['live', null],
      ]
      for (const [label, ended] of rows) {
        const id = idAt('execution', ago(601 + place), label)
        await insertExecution(db, ws, id, ended === null ? null : ago(ended))
        await sql`insert into ${sql.table(table)} ${columns[table]}
          from (select ${id}::text as id, ${ws}::text as ws, ${ago(600)}::timestamptz as at) g, generate_series(1, 3) n`.execute(
          db,
        )
      }
    },
  }
}

/** Mail with when it was accepted and when each recipient's delivery ended (null: it waits), in days before. */
const endedMail: [label: string, accepted: number, settled: (number | null)[]][] = [
  ['old', 35, [31, 30]],
  ['young', 30 - MS, [30 - MS]],
  ['for later', 700, [null]],
  ['of two recipients', 700, [600, 30 - MS]],
]

async function insertMailParts(
  db: Db,
  ws: string,
  insert: (id: string, label: string) => RawBuilder<unknown>,
) {
  for (const [label, accepted, settled] of endedMail) {
    const id = idAt('email', ago(accepted), label)
    for (const one of settled) await insertDelivery(db, ws, id, one === null ? null : ago(one))
    await insert(id, label).execute(db)
  }
}

const mail: OldRows[] = [
  {
    // Before other mail, since deliveries are walked in the order of their numbers.
    table: 'delivery_attempts',
    label: sql`t.outcome`,
    gone: ['old', 'old'],
    stay: ['for later', 'put off', 'young'],
    async write(db, ws) {
      const rows: [string, number, number | null, number][] = [
        ['old', 95, 90, 2],
        ['for later', 700, 90 - MS, 1],
        ['put off', 95, null, 1],
        ['young', 90 - MS, 90 - MS, 1],
      ]
      for (const [label, accepted, settled, attempts] of rows) {
        const id = idAt('email', ago(accepted), label)
        const of = await insertDelivery(db, ws, id, settled === null ? null : ago(settled))
        const at = ago(settled ?? accepted)
        await sql`insert into delivery_attempts (delivery_id, attempt, started_at, ended_at, outcome)
          select ${of}, n, ${at}, ${at}, ${label} from generate_series(1, ${attempts}::int) n`.execute(
          db,
        )
      }
    },
  },
  {
    table: 'email_attachments',
    label: sql`t.filename`,
    gone: ['old'],
    stay: ['young', 'for later', 'of two recipients'],
    write: (db, ws) =>
      insertMailParts(
        db,
        ws,
        (id, label) =>
          sql`insert into email_attachments values (${id}, 0, ${label}, null, null, '')`,
      ),
  },
  {
    table: 'email_sources',
    label: sql`encode(t.content, 'escape')`,
    gone: ['old'],
    stay: ['young', 'for later', 'of two recipients'],
    write: (db, ws) =>
      insertMailParts(
        db,
        ws,
        (id, label) => sql`insert into email_sources values (${id}, 0, ${Buffer.from(label)})`,
      ),
  },
  {
    table: 'email_events',
    label: sql`t.data->>'link'`,
    which: sql`t.data ?| array['ip', 'user_agent']`,
    gone: ['old', 'old, its address is not known', 'old, without its user agent'],
    stay: ['young'],
    async write(db, ws) {
      const rows: [string, number, object][] = [
        ['old', 90, { ip: '192.0.2.1', user_agent: 'UA' }],
        ['old, its address is not known', 91, { user_agent: 'UA' }],
        ['old, without its user agent', 92, { ip: '192.0.2.1' }],
        ['young', 90 - MS, { ip: '192.0.2.1', user_agent: 'UA' }],
      ]
      for (const [label, days, visitor] of rows) {
        const data = JSON.stringify({ link: label, ...visitor })
        await sql`insert into email_events (email_id, workspace_id, recipient, status, at, data)
          values ('visited', ${ws}, 'a@mail.test', 'clicked', ${ago(days)}, ${data})`.execute(db)
      }
    },
  },
  {
    table: 'complaints',
    label: sql`t.workspace_id`,
    gone: ['old', 'without its mail'],
    stay: ['young', 'of mail that was settled again', 'of mail that waits again'],
    async write(db, ws) {
      const rows: [string, number, number | null][] = [
        ['old', 400, 400],
        ['young', 400 - MS, 500],
        ['of mail that was settled again', 500, 400 - MS],
        ['of mail that waits again', 500, null],
      ]
      for (const [label, at, settled] of rows) {
        const id = await insertDelivery(db, ws, label, settled === null ? null : ago(settled))
        await sql`insert into complaints values (${id}, ${label}, ${ago(at)})`.execute(db)
      }
      await sql`insert into complaints values (0, 'without its mail', ${ago(400)})`.execute(db)
    },
  },
  {
    table: 'submitted_message_ids',
    label: sql`t.workspace_id`,
    gone: ['old', 'without its mail'],
    stay: ['young', 'for later', 'of two recipients'],
    async write(db, ws) {
      const rows: [string, number, (number | null)[]][] = [
        ['old', 405, [400]],
        ['without its mail', 405, []],
        ['young', 400 - MS, []],
        ['for later', 700, [null]],
        ['of two recipients', 700, [600, 400 - MS]],
      ]
      for (const [label, at, settled] of rows) {
        const id = idAt('email', ago(at), label)
        for (const one of settled) {
          await insertDelivery(db, ws, id, one === null ? null : ago(one))
        }
        await sql`insert into submitted_message_ids values (1, ${label}, ${id})`.execute(db)
      }
    },
  },
  {
    table: 'suppressions',
    label: sql`t.email`,
    gone: ['expired@mail.test'],
    stay: ['lately@mail.test', 'later@mail.test', 'never@mail.test'],
    async write(db, ws) {
      const rows: [string, Date | null][] = [
        ['expired', ago(30)],
        ['lately', ago(30 - MS)],
        ['later', ago(-30)],
        ['never', null],
      ]
      for (const [label, expires] of rows) {
        await sql`insert into suppressions (workspace_id, email, reason, created_at, expires_at)
          values (${ws}, ${`${label}@mail.test`}, 'bounce', ${ago(3000)}, ${expires})`.execute(db)
      }
    },
  },
  {
    table: 'erased_suppressions',
    label: sql`encode(t.address_hmac, 'escape')`,
    gone: ['expired'],
    stay: ['lately', 'later', 'never'],
    async write(db, ws) {
      const rows: [string, Date | null][] = [
        ['expired', ago(30)],
        ['lately', ago(30 - MS)],
        ['later', ago(-30)],
        ['never', null],
      ]
      for (const [label, expires] of rows) {
        await sql`insert into erased_suppressions (workspace_id, address_hmac, reason, created_at, expires_at)
          values (${ws}, ${Buffer.from(label)}, 'bounce', ${ago(3000)}, ${expires})`.execute(db)
      }
    },
  },
  {
    table: 'soft_bounces',
    label: sql`t.email`,
    gone: ['cleared', 'cleared by unknown mail'],
    stay: ['young', 'cleared lately', 'cleared by mail that waits again', 'counts'],
    async write(db, ws) {
      const rows: [string, number, number | null | undefined][] = [
        ['cleared', 31, 30],
        ['young', 30, 300],
        ['cleared lately', 300, 30 - MS],
        ['cleared by mail that waits again', 300, null],
      ]
      for (const [label, day, settled] of rows) {
        const id = `cleared-${label}`
        await insertDelivery(db, ws, id, settled == null ? null : ago(settled))
        await insertDay(label, day, id)
      }
      await insertDay('cleared by unknown mail', 31, 'em_none')
      await insertDay('counts', 3000, null)

      async function insertDay(label: string, day: number, by: string | null) {
        await sql`insert into soft_bounces values (${ws}, ${label},
          (${ago(day)}::timestamptz at time zone 'UTC')::date, ${by})`.execute(db)
      }
    },
  },
  {
    table: 'email_stats',
    label: sql`t.value`,
    gone: ['old'],
    stay: ['young'],
    async write(db, ws) {
      const hour = Math.floor(ago(400).getTime() / 3_600_000)
      await sql`insert into email_stats (workspace_id, kind, hour, domain_id, value, sent)
        values (${ws}, 'domain', ${hour - 1}, 'dom_1', 'old', 1), (${ws}, 'domain', ${hour}, 'dom_1', 'young', 1)
      `.execute(db)
    },
  },
  {
    table: 'email_firsts',
    label: sql`t.workspace_id`,
    gone: ['old'],
    stay: ['young'],
    async write(db) {
      await sql`insert into email_firsts (delivery_id, kind, workspace_id, at) values
        (1, 'opened', 'old', ${ago(400)}), (1, 'clicked', 'young', ${ago(400 - MS)})`.execute(db)
    },
  },
]

const others: OldRows[] = [
  {
    table: 'idempotency_keys',
    label: sql`encode(t.key_hash, 'escape')`,
    gone: ['a day', 'two days'],
    stay: ['less than a day', 'now'],
    async write(db, ws) {
      const rows = { 'a day': 1, 'two days': 2, 'less than a day': 1 - MS, now: 0 }
      for (const [label, days] of Object.entries(rows)) {
        await sql`insert into idempotency_keys (workspace_id, key_hash, fingerprint, status, body, created_at)
          values (${ws}, ${Buffer.from(label)}, '', 200, '', ${ago(days)})`.execute(db)
      }
    },
  },
  {
    table: 'webhook_deliveries',
    label: sql`t.webhook_id`,
    gone: ['old', 'pending, disabled', 'pending, of no webhook', 'pending for too long'],
    stay: ['pending', 'pending, first', 'young'],
    async write(db, ws) {
      const rows: [string, Date, Date | null, 'enabled' | 'disabled' | null][] = [
        ['pending for too long', ago(60 + MS), ago(59), 'enabled'],
        ['pending, first', ago(45), ago(29), 'enabled'],
        ['pending, disabled', ago(32), ago(25), 'disabled'],
        ['pending, of no webhook', ago(31), ago(25), null],
        ['pending', ago(30 + MS), ago(0), 'enabled'],
        ['old', ago(30 + 2 * MS), null, 'enabled'],
        ['young', ago(30), null, 'enabled'],
      ]
      for (const [label, at, next, webhook] of rows) {
        if (webhook) {
          await sql`insert into webhooks (id, workspace_id, url, events, status, created_at, updated_at)
            values (${label}, ${ws}, 'https://hooks.example.test/old', '{}', ${webhook}, ${at}, ${at})`.execute(
            db,
          )
        }
        await sql`insert into webhook_deliveries (id, webhook_id, event_id, workspace_id, state, next_at, created_at)
          values (${uuidAt(at)}, ${label}, ${uuidAt(at)}, ${ws}, ${next ? 'pending' : 'failed'}, ${next}, ${at})
        `.execute(db)
      }
    },
  },
  {
    table: 'webhook_events',
    label: sql`t.type`,
    gone: ['old', 'of what is pending for too long'],
    stay: ['of what is pending, first', 'as old as a delivery', 'of what is pending', 'young'],
    async write(db, ws) {
      const rows: [string, Date][] = [
        ['of what is pending for too long', ago(60 + MS)],
        ['old', ago(46)],
        ['of what is pending, first', ago(45)],
        ['as old as a delivery', ago(32)],
        ['of what is pending', ago(30 + MS)],
        ['young', ago(30)],
      ]
      for (const [label, at] of rows) {
        await sql`insert into webhook_events (id, workspace_id, type, at, data)
          values (${uuidAt(at)}, ${ws}, ${label}, ${at}, '{}')`.execute(db)
      }
    },
  },
  {
    table: 'jobs',
    label: sql`t.error`,
    gone: ['old', 'old, with lines'],
    stay: ['young', 'running', 'paused', 'erasure that has failed'],
    async write(db, ws) {
      const rows: [string, string, number, number | null, number][] = [
        ['old', 'cancelled', 91, 90, 0],
        ['old, with lines', 'completed', 91, 90, 3],
        ['young', 'failed', 300, 90 - MS, 1],
        ['running', 'running', 300, null, 1],
        ['paused', 'paused', 301, null, 0],
        ['erasure that has failed', 'failed', 301, 300, 0],
      ]
      for (const [label, status, begun, ended, lines] of rows) {
        const id = idAt('job', ago(begun), label)
        await sql`insert into jobs (id, workspace_id, kind, status, input, error, created_at, updated_at, completed_at)
          values (${id}, ${ws}, ${label.startsWith('erasure') ? 'erasure' : 'replay'}, ${status}, '{}', ${label}, ${ago(begun)}, ${ago(begun)},
            ${ended === null ? null : ago(ended)})`.execute(db)
        await sql`insert into job_failures select ${id}, n, ${label} from generate_series(1, ${lines}::int) n`.execute(
          db,
        )
      }
    },
  },
  {
    table: 'job_failures',
    label: sql`t.error`,
    gone: ['old, with lines', 'old, with lines', 'old, with lines'],
    stay: ['young', 'running'],
    write: async () => undefined,
  },
  {
    table: 'http_calls',
    label: sql`t.node_id`,
    gone: ['old', 'old'],
    stay: ['ended lately', 'live'],
    async write(db, ws) {
      const rows: [string, number, number | null][] = [
        ['old', 40, 30],
        ['ended lately', 300, 30 - MS],
        ['live', 500, null],
      ]
      for (const [label, at, ended] of rows) {
        const id = idAt('execution', ago(600), label)
        await insertExecution(db, ws, id, ended === null ? null : ago(ended))
        await insertCall(id, 0, label, at)
        if (label === 'old') await insertCall(id, 1, label, at)
      }

      async function insertCall(id: string, segment: number, label: string, at: number) {
        await sql`insert into http_calls (execution_id, segment, node_id, workspace_id, lap, created_at)
          values (${id}, ${segment}, ${label}, ${ws}, 1, ${ago(at)})`.execute(db)
      }
    },
  },
  ...(['execution_segments', 'execution_steps', 'event_waits'] as const).map(ofExecutions),
  {
    table: 'former_tokens',
    label: sql`encode(t.token_hash, 'escape')`,
    gone: ['expired'],
    stay: ['expired lately', 'live'],
    async write(db, ws) {
      for (const [label, days] of Object.entries({
        expired: 7,
        'expired lately': 7 - MS,
        live: -1,
      })) {
        await sql`insert into former_tokens (token_hash, workspace_id, key_id, expires_at)
          select ${Buffer.from(label)}, ${ws}::text, id, ${ago(days)}::timestamptz from api_keys
          where workspace_id = ${ws} limit 1`.execute(db)
      }
    },
  },
  {
    table: 'email_days',
    label: sql`t.subject`,
    gone: ['old'],
    stay: ['young'],
    async write(db, ws) {
      for (const [label, days] of Object.entries({ old: 8, young: 7 })) {
        await sql`insert into email_days (subject, workspace_id, day, emails, granted)
          values (${label}, ${ws}, (${ago(days)}::timestamptz at time zone 'UTC')::date, 1, 1)`.execute(
          db,
        )
      }
    },
  },
]

export const oldRows: readonly OldRows[] = [...mail, ...others]

/** The labels of all rows that each of the tables has now. */
export async function labelsLeft(db: Db): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {}
  for (const { table, label, which = sql`true` } of oldRows) {
    const { rows } = await sql<{ label: string }>`
      select ${label} as label from ${sql.table(table)} t where ${which}`.execute(db)
    found[table] = rows.map((row) => row.label).sort()
  }
  return found
}

/** The labels that each of the tables must have. */
export function labelsOf(...which: ('gone' | 'stay')[]): Record<string, string[]> {
  return Object.fromEntries(
    oldRows.map((one) => [one.table, which.flatMap((name) => one[name]).sort()]),
  )
}
