// Schemas of statistics.
import { z } from '@hono/zod-openapi'
import type { StatsRow } from '../../db/stats/reads.ts'
import {
  HOUR_MS,
  type StatCount,
  type StatGroup,
  type StatInterval,
  statGroups,
  statIntervals,
} from '../../rules/stats.ts'
import { timeField } from '../emails/listQuery.ts'

const intervals = Object.keys(statIntervals) as [StatInterval, ...StatInterval[]]

export const EmailStatsQuery = z.object({
  since: timeField.optional().openapi({
    type: 'integer',
    description:
      'From this time on, in milliseconds since 1970 (UTC); it is rounded down to the hour or day. Absent: 24 hours before `until`, or 30 days with `interval=day`',
  }),
  until: timeField.optional().openapi({
    type: 'integer',
    description:
      'Before this time, in milliseconds since 1970 (UTC); it is rounded up to the hour or day. Absent: now, with what has been counted of this hour or day',
  }),
  interval: z.enum(intervals).optional().openapi({
    description: 'How long a bucket is, `hour` unless given',
  }),
  group: z.enum(statGroups).optional().openapi({
    description: 'One bucket for each of these, instead of one for all mail',
  }),
})

const descriptions: Record<StatCount, string> = {
  accepted: 'In which we accepted mail for them',
  sent: 'For which mail was accepted for sending: at once, unless it is scheduled',
  delivered: 'Whose server took the mail',
  opened: 'Who opened the mail for the first time; a machine counts as nobody',
  clicked: 'Who followed a link of the mail for the first time; a machine counts as nobody',
  bounced: 'Who could not be reached; not those who are suppressed or had left',
  complained: 'Who reported the mail as spam, for the first time',
  unsubscribed: 'Who unsubscribed by the mail, in whatever way, for the first time',
  suppressed: 'To whom nothing was sent, since they are on the suppression list',
}
const count = (name: StatCount) => z.int().openapi({ description: descriptions[name] })

const EmailStats = z
  .object({
    at: z.int().openapi({
      description: 'When the hour or day (UTC) begins, in milliseconds since 1970',
    }),
    group: z.string().optional().openapi({
      description:
        'With `group`: the id of the domain, workflow or broadcast, the tag as `key:value`, or the provider; `other` for providers that we do not know, and for tags, workflows and broadcasts beyond the first 500 of their domain in an hour. There are no broadcasts yet',
    }),
    accepted: count('accepted'),
    sent: count('sent'),
    delivered: count('delivered'),
    opened: count('opened'),
    clicked: count('clicked'),
    bounced: count('bounced'),
    complained: count('complained'),
    unsubscribed: count('unsubscribed'),
    suppressed: count('suppressed'),
  })
  .openapi('EmailStats')

export const EmailStatsList = z
  .object({
    buckets: z.array(EmailStats),
    count: z.int().openapi({ description: 'The number of buckets' }),
  })
  .openapi('EmailStatsList')
export type EmailStatsList = z.infer<typeof EmailStatsList>

export function toEmailStats(rows: readonly StatsRow[], group: StatGroup | null): EmailStatsList {
  const buckets = rows.map(({ hour, value, ...counts }) => ({
    at: hour * HOUR_MS,
    ...(group === null ? {} : { group: value }),
    ...counts,
  }))
  return { buckets, count: buckets.length }
}
