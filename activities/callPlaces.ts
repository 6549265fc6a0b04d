// Shares the requests of nodes that one worker makes at once between workspaces: all of them, and those to one host.
import { createShares, type Shares } from '../db/shares.ts'
import type { WorkspaceId } from '../rules/ids.ts'
import { limits } from '../rules/limits.ts'
import { createRetries } from './comingAgain.ts'
import { takeShare } from './takeShare.ts'

const BOUNDS = {
  // One stands for its workspace in the line, so that this has its turn among the others; more would only keep tasks of the worker.
  lineMax: 1,
  // Nobody but workspaces asks.
  reserves: false,
}

const RETRIES = {
  again_ms: 1_000,
  // Each that comes again is a task of Temporal: 40 a second of one workspace, for whichever hosts.
  apart_ms: 25,
  // However slow those before are: the last of thousands need not wait for hours.
  dense_after_ms: 120_000,
  dense_ms: 25,
  // So many are 24,000. Of more, more come in a second: what is well again must not be left idle by those that were told to wait.
  most_ms: 600_000,
}

/** Makes the places of one worker. */
export function createCallPlaces() {
  const ofAll = createShares(limits.httpCallsMax, BOUNDS)
  const takeOfHost = createHosts()
  const underWay = new Map<WorkspaceId, number>()
  const retries = createRetries(RETRIES)

  /** @returns a function that notes how long it was */
  function begin(workspaceId: WorkspaceId): () => void {
    const began = performance.now()
    underWay.set(workspaceId, (underWay.get(workspaceId) ?? 0) + 1)
    return () => {
      const count = underWay.get(workspaceId) ?? 1
      retries.took(workspaceId, performance.now() - began, count)
      if (count > 1) underWay.set(workspaceId, count - 1)
      else underWay.delete(workspaceId)
    }
  }

  return {
    /** Gives a call that was turned away its place among those of its workspace that come again. @returns in how many ms it does */
    retryAfter_ms: retries.next_ms,
    /**
     * Takes a place, at once or in turn. The place among all comes first: who waits for it holds none of a host's; who waits for a host's holds one among all, within their
     * workspace's share.
     * @param signal ends the wait
     * @returns a function that gives it back; null: there is none, so the call comes again later
     * @throws the signal's reason when it is aborted
     */
    async take(
      workspaceId: WorkspaceId,
      host: string,
      signal: AbortSignal,
    ): Promise<(() => void) | null> {
      const leaveAll = await takeShare(ofAll, workspaceId, signal)
      if (!leaveAll) return null
      let leaveHost: (() => void) | null = null
      try {
        leaveHost = await takeOfHost(workspaceId, host, signal)
      } finally {
        if (!leaveHost) leaveAll()
      }
      if (!leaveHost) return null
      const [leave, end] = [leaveHost, begin(workspaceId)]
      return () => {
        end()
        leave()
        leaveAll()
      }
    },
  }
}

/** The places of each host, while somebody has or wants one. @returns takes one, as `takeShare` does */
function createHosts() {
  const hosts = new Map<string, Shares>()
  return async (workspaceId: WorkspaceId, host: string, signal: AbortSignal) => {
    const shares = hosts.get(host) ?? createShares(limits.httpCallsPerHostMax, BOUNDS)
    hosts.set(host, shares)
    const forget = () => {
      if (shares.counts().owners === 0 && hosts.get(host) === shares) hosts.delete(host)
    }
    const leave = await takeShare(shares, workspaceId, signal).finally(forget)
    if (!leave) return null
    return () => {
      leave()
      forget()
    }
  }
}
