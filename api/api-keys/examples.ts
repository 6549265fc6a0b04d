// The examples of the API key operations: Acme's own key, and one of a shop that may only send.
import type { z } from '@hono/zod-openapi'
import { exampleIds, exampleTime } from '../http/exampleIds.ts'
import type { ApiKeyList } from './schemas.ts'

export const apiKeyExamples = {
  list: {
    query: {},
    answer: {
      api_keys: [
        {
          id: exampleIds.sendingKey,
          name: 'Web shop',
          prefix: 'drip_Kq2Zt5v',
          permission: 'sending_access',
          domain_id: null,
          expires_at: null,
          last_used_at: null,
          created: exampleTime,
        },
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
