// Keeps large composed messages until they are written: in memory while there is room, in files otherwise. So a receiver
// that takes its mail slowly keeps no other mail from being composed.
import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { dotStuffed, hasLoneDot } from '../../mail/smtp/dots.ts'
import type { StoredMessage } from '../../mail/transport.ts'

const SLICE_BYTES = 256 * 1024

export interface StoreLimits {
  /** Bytes of all messages that stand in memory. */
  memoryMax: number
  /** Bytes of all files. */
  filesMax: number
}

/** The part of all files that one workspace may have. */
const WORKSPACE_PART = 1 / 8

const LIMITS: StoreLimits = { memoryMax: 64 * 1024 * 1024, filesMax: 4 * 1024 * 1024 * 1024 }

/** Where one message stands. */
interface Place {
  parts: StoredMessage['parts']
  /** Gives memory or file back. */
  free: () => void
}

/** A message that several deliveries may write. */
export interface KeptMessage {
  /** One of those deliveries. `message` is valid until `release` is called or it was written. */
  hold: () => { message: StoredMessage; release: () => void }
  /** Whether the last of them has let it go, and so it must be composed anew. */
  isGone: () => boolean
}

/** @param folder where files are made; they have no name there, so none is left when the process dies */
export function createMessageStore(folder: string, { memoryMax, filesMax }: StoreLimits = LIMITS) {
  const used = { memory: 0, files: 0 }
  const ofWorkspace = countFiles(used)

  const inMemory = (bytes: Buffer): Place => {
    let kept: Buffer | null = bytes
    const size = bytes.length
    used.memory += size
    return {
      parts: () => dotStuffed(kept ?? Buffer.alloc(0)),
      free() {
        used.memory -= size
        kept = null
      },
    }
  }

  const inFile = async (bytes: Buffer, workspaceId: string): Promise<Place> => {
    const size = bytes.length
    ofWorkspace.add(workspaceId, size)
    try {
      const file = await writeFile(folder, bytes)
      return {
        parts: () => slicesOf(file),
        free() {
          ofWorkspace.add(workspaceId, -size)
          void file.close()
        },
      }
    } catch (err) {
      ofWorkspace.add(workspaceId, -size)
      throw err
    }
  }

  return {
    /** Bytes in use now. */
    used: () => ({ ...used }),
    /**
     * Whether all files, or with `bytes` more those of this workspace, take more than they may: then its message should
     * not be composed yet. The only file of a workspace may have any size.
     */
    isFull(workspaceId: string, bytes: number): boolean {
      const own = ofWorkspace.size(workspaceId)
      return used.files > filesMax || (own > 0 && own + bytes > filesMax * WORKSPACE_PART)
    },
    /** Keeps a composed message of a workspace. The caller must not keep `bytes`. @throws errors of the file system */
    async keep(bytes: Buffer, workspaceId: string): Promise<KeptMessage> {
      const fits = used.memory + bytes.length <= memoryMax
      const lone = hasLoneDot(bytes)
      const { length } = bytes
      return share(length, lone, fits ? inMemory(bytes) : await inFile(bytes, workspaceId))
    },
  }
}

/** Counts bytes of files for each workspace, and of all in `used`. */
function countFiles(used: { files: number }) {
  const sizes = new Map<string, number>()
  const size = (workspaceId: string) => sizes.get(workspaceId) ?? 0
  return {
    size,
    add(workspaceId: string, by: number): void {
      used.files += by
      const sum = size(workspaceId) + by
      if (sum > 0) sizes.set(workspaceId, sum)
      else sizes.delete(workspaceId)
    },
  }
}

function share(length: number, lone: boolean, place: Place): KeptMessage {
  let holders = 0
  let gone = false
  return {
    isGone: () => gone,
    hold() {
      let holds = true
      holders += 1
      const release = () => {
        if (!holds) return
        holds = false
        holders -= 1
        if (holders > 0) return
        gone = true
        place.free()
      }
      return {
        message: { length, hasLoneDot: lone, parts: place.parts, written: release },
        release,
      }
    },
  }
}

/** Writes the dot-stuffed message to a file that nobody else can open. */
async function writeFile(folder: string, bytes: Buffer): Promise<FileHandle> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `${randomUUID()}.mail`)
  const file = await open(path, 'wx+', 0o600)
  try {
    await unlink(path)
    for (const part of dotStuffed(bytes)) await file.writeFile(part)
    return file
  } catch (err) {
    await file.close()
    throw err
  }
}

async function* slicesOf(file: FileHandle): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    const { bytesRead, buffer } = await file.read(
      Buffer.allocUnsafe(SLICE_BYTES),
      0,
      SLICE_BYTES,
      at,
    )
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}
