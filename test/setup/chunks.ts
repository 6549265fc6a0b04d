// A request body in chunks, without a Content-Length.
import type { TestApi } from './api.ts'

const CHUNK_BYTES = 64 * 1024

/** Sends so many spaces as a JSON body. */
export async function sendChunks(
  { app, key }: Pick<TestApi, 'app' | 'key'>,
  method: string,
  path: string,
  bytes: number,
): Promise<{ status: number; body: unknown }> {
  const chunk = new Uint8Array(CHUNK_BYTES).fill(0x20)
  let left = bytes
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(chunk.subarray(0, Math.min(left, CHUNK_BYTES)))
      left -= Math.min(left, CHUNK_BYTES)
      if (left === 0) controller.close()
    },
  })
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'transfer-encoding': 'chunked',
  }
  const response = await app.request(path, { method, headers, body, duplex: 'half' })
  return { status: response.status, body: await response.json() }
}
