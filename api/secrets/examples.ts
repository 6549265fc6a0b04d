// The examples of the secret operations: the key with which Acme's designs ask another service.
import type { z } from '@hono/zod-openapi'
import { exampleTime } from '../http/exampleIds.ts'
import type { SecretList, SecretValue } from './schemas.ts'

const name = 'CRM_KEY'

export const secretExamples = {
  put: { params: { name }, body: { value: 'sk_live_1' } satisfies z.input<typeof SecretValue> },
  list: {
    answer: { secrets: [{ name, updated: exampleTime }] } satisfies z.infer<typeof SecretList>,
  },
  remove: { params: { name } },
}
