// The examples of the API key operations: Acme's own key, and one of a shop that may only send.
import type { z } from '@hono/zod-openapi'
import { exampleIds, exampleTime } from '../http/exampleIds.ts'
import type { ApiKeyList, MadeApiKey, NewApiKey } from './schemas.ts'

const shopKey = {
  id: exampleIds.sendingKey,
  name: 'Web shop',
  permission: 'sending_access',
  domain_id: null,
  expires_at: null,
  last_used_at: null,
  created: exampleTime,
} as const

export const apiKeyExamples = {
  create: {
    body: { name: 'Web shop', permission: 'sending_access' } satisfies z.infer<typeof NewApiKey>,
    answer: {
      ...shopKey,
      prefix: 'drip_Kq2Zt5v',
      token: 'drip_Kq2Zt5vQ0m1c9XeHn4uYb7sWd2fGj6kLp8rTa3vZxC5',
    } satisfies z.infer<typeof MadeApiKey>,
  },
  rotate: {
    params: { id: exampleIds.sendingKey },
    body: { grace_ms: 3_600_000 },
    answer: {
      ...shopKey,
      prefix: 'drip_wT8cLr3',
      token: 'drip_wT8cLr3Bq6nMz1eVh9yKs4xGd7uJf0pQa2iRo5tNcE8',
    } satisfies z.infer<typeof MadeApiKey>,
  },
  list: {
    query: {},
    answer: {
      api_keys: [
        { ...shopKey, prefix: 'drip_wT8cLr3' },
        {
          id: exampleIds.apiKey,
          name: 'Backend',
          prefix: 'drip_mR4xW9p',
          permission: 'full_access',
          domain_id: null,
          expires_at: null,
          last_used_at: exampleTime + 60_000,
          created: exampleTime,
        },
      ],
      count: 2,
      cursor: null,
    } satisfies z.infer<typeof ApiKeyList>,
  },
  revoke: { params: { id: exampleIds.sendingKey } },
}
