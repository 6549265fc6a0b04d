// The examples of the operations on the contacts of an audience: who gets Acme's newsletter.
import type { z } from '@hono/zod-openapi'
import { exampleAddress, exampleIds, exampleTime, secondAddress } from '../http/exampleIds.ts'
import type { OperationExample } from '../http/operation.ts'
import type {
  AudienceContact,
  AudienceContactBatch,
  AudienceContactBatchResult,
  AudienceContactChange,
  AudienceContactList,
  NewAudienceContact,
} from './contactSchemas.ts'

const params = { audienceId: exampleIds.audience }
const one = { ...params, email: exampleAddress }

const ada = {
  id: exampleIds.audienceContact,
  first_name: 'Ada',
  last_name: null,
  email: exampleAddress,
  is_subscribed: true,
  created: exampleTime,
  updated: exampleTime,
} satisfies AudienceContact

const grace = {
  ...ada,
  id: exampleIds.secondAudienceContact,
  first_name: 'Grace',
  last_name: 'Hopper',
  email: secondAddress,
  is_subscribed: false,
} satisfies AudienceContact

export const audienceContactExamples = {
  list: {
    params,
    query: { expand: 'details' },
    answer: {
      contacts: [
        { ...ada, properties: { language: 'en' } },
        { ...grace, properties: {} },
      ],
      count: 2,
      cursor: null,
    } satisfies z.infer<typeof AudienceContactList>,
  },
  add: {
    params,
    body: {
      email: exampleAddress,
      first_name: 'Ada',
      properties: { language: 'en' },
    } satisfies z.infer<typeof NewAudienceContact>,
    answer: ada,
  },
  batch: {
    params,
    body: {
      contacts: [
        { email: secondAddress, first_name: 'Grace', last_name: 'Hopper', is_subscribed: false },
        { email: 'no address' },
      ],
    } satisfies z.infer<typeof AudienceContactBatch>,
    answer: {
      contacts: [{ email: secondAddress, created: true }],
      errors: [
        {
          index: 1,
          message: 'email must be an address such as ada@example.com, not "no address"',
          code: 'invalid_request',
        },
      ],
    } satisfies z.infer<typeof AudienceContactBatchResult>,
  },
  change: {
    params: one,
    body: { last_name: 'Lovelace' } satisfies z.infer<typeof AudienceContactChange>,
    answer: {
      ...ada,
      last_name: 'Lovelace',
      updated: exampleTime + 86_400_000,
    } satisfies AudienceContact,
  },
  remove: { params: { ...params, email: secondAddress } },
} satisfies Record<string, OperationExample>
