// The examples of the operations on audiences: Acme's newsletter.
import type { z } from '@hono/zod-openapi'
import { exampleIds, exampleOwner, exampleTime } from '../http/exampleIds.ts'
import type { OperationExample } from '../http/operation.ts'
import type { Audience, AudienceBody, AudienceList } from './schemas.ts'

const params = { id: exampleIds.audience }

const fresh = {
  id: exampleIds.audience,
  name: 'Newsletter',
  created_by: {
    ...exampleOwner,
    profile_picture: `https://api.example.com/avatars/${exampleIds.user}.svg`,
  },
  created: exampleTime,
  updated: exampleTime,
  contact_count: 0,
  unsubscribers: 0,
} satisfies Audience

const filled = { ...fresh, contact_count: 2, unsubscribers: 1 } satisfies Audience

export const audienceExamples = {
  list: {
    answer: { audiences: [filled], count: 1, cursor: null } satisfies z.infer<typeof AudienceList>,
  },
  create: { body: { name: 'Newsletter' } satisfies z.infer<typeof AudienceBody>, answer: fresh },
  get: { params, answer: filled },
  rename: {
    params,
    body: { name: 'Monthly newsletter' } satisfies z.infer<typeof AudienceBody>,
    answer: {
      ...filled,
      name: 'Monthly newsletter',
      updated: exampleTime + 86_400_000,
    } satisfies Audience,
  },
  remove: { params },
} satisfies Record<string, OperationExample>
