// A process that signs bodies as Standard Webhooks says and posts them with undici, in a bare loop.
import { createHmac, createSecretKey } from 'node:crypto'
import { Agent, request } from 'undici'
import { runLoad } from './load.ts'
import { serve } from './remote.ts'

let agent: Agent | undefined

const handlers = {
  /** Posts so many, to one URL. @returns requests a second */
  async run(input: {
    url: string
    /** `whsec_…` */
    secret: string
    /** JSON of the data of an event. */
    data: string
    loops: number
    count: number
  }): Promise<number> {
    const { url, secret, data, loops, count } = input
    agent ??= new Agent({ connections: loops })
    const dispatcher = agent
    const key = createSecretKey(Buffer.from(secret.slice('whsec_'.length), 'base64'))
    const { per_second } = await runLoad({ loops, count }, async (serial) => {
      const id = `msg_${String(serial).padStart(26, '0')}`
      const now = new Date()
      const timestamp = String(Math.floor(now.getTime() / 1000))
      const body = `{"type":"email.delivered","timestamp":"${now.toISOString()}","data":${data}}`
      const signature = createHmac('sha256', key)
        .update(`${id}.${timestamp}.${body}`)
        .digest('base64')
      const answer = await request(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': `v1,${signature}`,
        },
        body,
        dispatcher,
      })
      await answer.body.dump()
      if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`)
    })
    return per_second
  },
}

export type WebhookPosts = typeof handlers

serve(handlers)
