// Renders that wait: in turns between workspaces, each in its own order, and bounded in number and size.

export interface Waiting {
  workspaceId: string
  bytes: number
  /** In ms of a clock that only goes forward. */
  since_ms: number
}

/** A queue that gives each workspace its turn. */
export class FairQueue<T extends Waiting> {
  /** In the order of their turns. A workspace without jobs is not in it. */
  private readonly lines = new Map<string, T[]>()

  /** Whether a job waits of a workspace whose turn it may be. */
  holds(mayRun: (workspaceId: string) => boolean): boolean {
    for (const workspaceId of this.lines.keys()) if (mayRun(workspaceId)) return true
    return false
  }

  add(job: T): void {
    const line = this.lines.get(job.workspaceId)
    if (line) line.push(job)
    else this.lines.set(job.workspaceId, [job])
  }

  /** The next job of the first workspace whose turn it may be. That workspace goes to the end. */
  take(mayRun: (workspaceId: string) => boolean = () => true): T | undefined {
    for (const [workspaceId, line] of this.lines) {
      if (!mayRun(workspaceId)) continue
      this.lines.delete(workspaceId)
      const job = line.shift()
      if (line.length > 0) this.lines.set(workspaceId, line)
      return job
    }
    return undefined
  }

  /** Removes the jobs that wait since before that time. */
  takeOlder(than_ms: number): T[] {
    const old: T[] = []
    for (const [workspaceId, line] of this.lines) {
      while (line[0] && line[0].since_ms < than_ms) old.push(...line.splice(0, 1))
      if (line.length === 0) this.lines.delete(workspaceId)
    }
    return old
  }
}

/** Counts of what was taken and is not answered. */
interface Load {
  count: number
  bytes: number
}

/** Bounds on what one workspace, and all together, may have waiting or under way. */
export function createAdmission(max: { each: Load; all: Load }) {
  const all = { count: 0, bytes: 0 }
  const loads = new Map<string, Load>()
  const fits = (load: Load, bytes: number, bound: Load) =>
    load.count < bound.count && load.bytes + bytes <= bound.bytes
  const add = (load: Load, sign: number, bytes: number) => {
    load.count += sign
    load.bytes += sign * bytes
  }
  return {
    /** Whether it fits; then it counts until `leave`. */
    enter({ workspaceId, bytes }: Waiting): boolean {
      const load = loads.get(workspaceId) ?? { count: 0, bytes: 0 }
      if (!fits(load, bytes, max.each) || !fits(all, bytes, max.all)) return false
      loads.set(workspaceId, load)
      for (const one of [load, all]) add(one, 1, bytes)
      return true
    },
    leave({ workspaceId, bytes }: Waiting): void {
      const load = loads.get(workspaceId)
      if (!load) return
      for (const one of [load, all]) add(one, -1, bytes)
      if (load.count === 0) loads.delete(workspaceId)
    },
  }
}
