// The example of statistics: the one mail that Acme has sent on a day.
import { exampleTime } from '../http/exampleIds.ts'
import type { EmailStatsList } from './schemas.ts'

const DAY_MS = 24 * 60 * 60 * 1000

export const statsExamples = {
  emails: {
    query: { interval: 'day', group: 'tag' },
    answer: {
      buckets: [
        {
          at: exampleTime - (exampleTime % DAY_MS),
          group: 'kind:shipping',
          accepted: 1,
          sent: 1,
          delivered: 1,
          opened: 0,
          clicked: 0,
          bounced: 0,
          complained: 0,
          unsubscribed: 0,
          suppressed: 0,
        },
      ],
      count: 1,
    } satisfies EmailStatsList,
  },
}
