// Keeps messages while they come: small ones in memory, large ones in files without a name, so that a client that sends
// slowly holds no memory, and a dead process leaves nothing.
import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { limits, MEBIBYTE } from '../../rules/limits.ts'
import { replyOf } from './replies.ts'

interface SpoolLimits {
  /** Of one message that stands in memory, and of all of them. */
  messageMemoryMax: number
  memoryMax: number
  /** Of all files. */
  filesMax: number
}

export const spoolLimits: SpoolLimits = {
  messageMemoryMax: 256 * 1024,
  memoryMax: 64 * MEBIBYTE,
  filesMax: 4096 * MEBIBYTE,
}
/** The part of all files that one workspace may have; one message may have any size. */
export const WORKSPACE_PART = 1 / 8

/** One message. */
export interface Spooled {
  readonly bytes: number
  /**
   * @returns null: it is kept; else what resolves when it is, and before which nothing more must be added. That rejects with an SmtpRefusal
   * when there is no room, or with an error of the file system
   */
  add(chunk: Buffer): Promise<void> | null
  /** All of it. */
  read(): Promise<Buffer>
  /** Gives everything back. */
  close(): Promise<void>
}

/** @param folder where the files are made */
export function createSpool(folder: string, given: SpoolLimits = spoolLimits) {
  const used = { memory: 0, files: 0 }
  const ofWorkspace = new Map<string, number>()

  const countFile = (workspaceId: string, by: number) => {
    const own = (ofWorkspace.get(workspaceId) ?? 0) + by
    used.files += by
    if (own > 0) ofWorkspace.set(workspaceId, own)
    else ofWorkspace.delete(workspaceId)
    return own
  }
  const isFull = (own: number, bytes: number) =>
    used.files > given.filesMax || (own > given.filesMax * WORKSPACE_PART && own > bytes)

  return {
    /** Bytes in use now. */
    used: () => ({ ...used }),
    open(workspaceId: string): Spooled {
      let chunks: Buffer[] = []
      let inMemory = 0
      let inFile = 0
      let file: FileHandle | null = null

      const flush = async () => {
        const bytes = inMemory
        const own = countFile(workspaceId, bytes)
        inFile += bytes
        if (isFull(own, inFile)) throw noRoom()
        file ??= await nameless(folder)
        await file.appendFile(Buffer.concat(chunks))
        chunks = []
        used.memory -= inMemory
        inMemory = 0
      }

      return {
        get bytes() {
          return inMemory + inFile
        },
        add(chunk) {
          chunks.push(chunk)
          inMemory += chunk.length
          used.memory += chunk.length
          const isTooMuch = inMemory > given.messageMemoryMax || used.memory > given.memoryMax
          return isTooMuch ? flush() : null
        },
        async read() {
          if (!file) return Buffer.concat(chunks)
          if (inMemory > 0) await flush()
          const whole = Buffer.allocUnsafe(inFile)
          for (let at = 0; at < whole.length; ) {
            const { bytesRead } = await file.read(whole, at, whole.length - at, at)
            if (bytesRead === 0) throw new Error('a spooled message has lost its end')
            at += bytesRead
          }
          return whole
        },
        async close() {
          chunks = []
          used.memory -= inMemory
          countFile(workspaceId, -inFile)
          inMemory = 0
          inFile = 0
          await file?.close()
          file = null
        },
      }
    },
  }
}

const noRoom = () =>
  replyOf({
    reply: 452,
    enhanced: '4.3.1',
    code: 'service_unavailable',
    text: `There is no room for large messages now (one has up to ${limits.submissionBytesMax / MEBIBYTE} MB), try again later`,
  })

/** A file that nobody else can open, and that is gone with this process. */
async function nameless(folder: string): Promise<FileHandle> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `${randomUUID()}.submitted`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}
