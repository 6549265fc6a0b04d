// Looks up the API keys that are not cached: many in one query, and a few for each client address at a time.

/** Look-ups of one address in one turn. It has another turn in the same query if nobody else fills that. */
const OF_TURN = 8
/** Look-ups in one query. */
const QUERY_MAX = 200
/** Queries at once, so that look-ups never take more than these connections. */
const QUERIES_MAX = 2

interface Waiting<K> {
  hash: Buffer
  resolve: (key: K | undefined) => void
  reject: (err: unknown) => void
}

/**
 * Makes a look-up of keys by their hashes. Wrong keys cost a query each otherwise, and whoever sends thousands of them
 * would take all connections from the good ones. A good key that waits among them is found within a few queries, since
 * an address goes to the end of the line after each of its turns.
 * @param read finds the keys with these hashes in one query
 */
export function createKeyLookups<K extends { token_hash: Buffer }>(
  read: (hashes: Buffer[]) => Promise<K[]>,
): (hash: Buffer, address: string) => Promise<K | undefined> {
  /** By address, in the order of their turns. */
  const lines = new Map<string, Waiting<K>[]>()
  let running = 0

  const takeBatch = (): Waiting<K>[] => {
    const batch: Waiting<K>[] = []
    // An address whose line goes on is set anew at the end, and so comes again in this loop.
    for (const [address, line] of lines) {
      if (batch.length >= QUERY_MAX) break
      batch.push(...line.splice(0, OF_TURN))
      lines.delete(address)
      if (line.length > 0) lines.set(address, line)
    }
    return batch
  }

  const run = async (): Promise<void> => {
    running++
    for (let batch = takeBatch(); batch.length > 0; batch = takeBatch()) {
      try {
        const rows = await read(batch.map(({ hash }) => hash))
        const found = new Map(rows.map((row) => [row.token_hash.toString('latin1'), row]))
        for (const { hash, resolve } of batch) resolve(found.get(hash.toString('latin1')))
      } catch (err) {
        for (const { reject } of batch) reject(err)
      }
    }
    running--
  }

  return (hash, address) =>
    new Promise((resolve, reject) => {
      const line = lines.get(address)
      if (line) line.push({ hash, resolve, reject })
      else lines.set(address, [{ hash, resolve, reject }])
      if (running < QUERIES_MAX) void run()
    })
}
