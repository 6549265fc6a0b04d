// Reads how much memory and disk there is, also inside a container with limits.
import { existsSync, readFileSync, statfsSync } from 'node:fs'
import { freemem, totalmem } from 'node:os'
import { dirname, join, resolve } from 'node:path'

export interface Memory {
  /** The memory that this process and its children may use: of the machine, or of the container. */
  limit_mb: number
  /** The free part of it. Caches that the system can drop count as free. */
  free_mb: number
}

const toMb = (bytes: number) => Math.floor(bytes / 2 ** 20)

/** Reads the memory of the machine, or of the control group (version 1 or 2) with the smallest limit. */
export function readMemory(): Memory {
  const machine = { limit_mb: toMb(totalmem()), free_mb: toMb(freemem()) }
  const groups = groupFolders().flatMap((folder) => readGroup(folder) ?? [])
  return {
    limit_mb: Math.min(machine.limit_mb, ...groups.map(({ limit_mb }) => limit_mb)),
    free_mb: Math.min(machine.free_mb, ...groups.map(({ free_mb }) => free_mb)),
  }
}

/** The memory of one control group; undefined if it has no limit. */
function readGroup(folder: string): Memory | undefined {
  const limit = readNumber(folder, 'memory.max') ?? readNumber(folder, 'memory.limit_in_bytes')
  const used = readNumber(folder, 'memory.current') ?? readNumber(folder, 'memory.usage_in_bytes')
  // A group of version 1 without a limit reports an impossibly large one.
  if (limit === undefined || used === undefined || limit > totalmem()) return undefined
  const stat = readText(join(folder, 'memory.stat'))
  const cached = Number(/^(?:total_)?inactive_file (\d+)$/m.exec(stat)?.[1] ?? 0)
  return { limit_mb: toMb(limit), free_mb: toMb(limit - used + cached) }
}

/**
 * The folders of this process's control group and its parents, each of which may have a limit. Inside a container
 * the path is often that of the host.
 */
function groupFolders(): string[] {
  const groups = readText('/proc/self/cgroup')
  const [, path = '/'] = /^\d+:memory:(.*)$/m.exec(groups) ?? /^0::(.*)$/m.exec(groups) ?? []
  const mount = existsSync('/sys/fs/cgroup/memory') ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup'
  const folders = [mount]
  for (let at = path; at !== '/' && at !== '.'; at = dirname(at)) folders.push(join(mount, at))
  return folders
}

/** Reads a file with one number; undefined if it is absent or says "max". */
function readNumber(folder: string, name: string): number | undefined {
  const text = readText(join(folder, name)).trim()
  return /^\d+$/.test(text) ? Number(text) : undefined
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Free space of the disk of `path`, which need not exist yet. */
export function freeDisk_mb(path: string): number {
  let folder = resolve(path)
  while (!existsSync(folder)) folder = dirname(folder)
  const { bavail, bsize } = statfsSync(folder)
  return toMb(bavail * bsize)
}
