// Statistics of mail: how many recipients each hour or day had, and what became of it.
import { listEmailStats } from '../../db/stats/reads.ts'
import { limits } from '../../rules/limits.ts'
import { HOUR_MS, hoursOf, type StatInterval, statIntervals } from '../../rules/stats.ts'
import type { ApiDeps } from '../http/env.ts'
import { badRequest } from '../http/errors.ts'
import { createRoutes, jsonBody } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { statsExamples } from './examples.ts'
import { EmailStatsList, EmailStatsQuery, toEmailStats } from './schemas.ts'

/** The time that is asked for where no `since` is given. */
const DEFAULT_MS: Record<StatInterval, number> = { hour: 24 * HOUR_MS, day: 30 * 24 * HOUR_MS }

const emailsRoute = defineOperation({
  method: 'get',
  path: '/emails',
  permission: 'read',
  bound: 'own',
  errors: 'message',
  tags: ['Statistics'],
  operationId: 'getEmailStats',
  summary: 'Count mail by hour or day',
  description:
    'Counts recipients: a mail to three people counts three times. `accepted` counts in the hour in which the mail was accepted, ' +
    'everything else in the hour in which it happened, so of one mail it may be in several. What has just happened is in the next ' +
    'answer. The oldest bucket comes first; hours and days in which nothing happened are left out. ' +
    'Mail without a workflow, a broadcast or tags is in no bucket of such a group, and mail with several tags in one of each.',
  codes: ['too_many_buckets'],
  example: statsExamples.emails,
  request: { query: EmailStatsQuery },
  responses: { 200: jsonBody(EmailStatsList, 'The counts, oldest first') },
})

export function statsRoutes({ db, now }: ApiDeps) {
  const app = createRoutes()
  app.openapi(emailsRoute, async (c) => {
    const { since, interval = 'hour', group = null, ...query } = c.req.valid('query')
    const until = query.until ?? Math.max(now().getTime(), since ?? 0) + 1
    const from = since ?? Math.max(0, until - DEFAULT_MS[interval])
    if (from >= until) throw badRequest(`until must be after since, which is ${from}, not ${until}`)
    const hours = hoursOf(from, until, interval)
    const times = (hours.to - hours.from) / statIntervals[interval]
    if (times > limits.statTimesMax) {
      throw tooMany(`since and until are ${times} ${interval}s apart`, limits.statTimesMax)
    }
    const limit = limits.statBucketsMax + 1
    const rows = await listEmailStats(db, c.var.reach, { hours, interval, group, limit })
    if (rows.length >= limit) throw tooMany('there are more buckets', limits.statBucketsMax)
    return c.json(toEmailStats(rows, group), 200)
  })
  return app
}

const tooMany = (what: string, max: number) =>
  badRequest(
    `${what}, and one answer has at most ${max}: ask for less time, or for interval=day`,
    'too_many_buckets',
  )
