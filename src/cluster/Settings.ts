/**
 * Options of a cluster that finds a dead runner in seconds.
 *
 * @since 0.1.0
 */
import type * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as Duration from "effect/Duration"

type Settings = Partial<ShardingConfig.ShardingConfig["Service"]>

/**
 * Returns options with which a cluster finds a dead runner after 6 seconds, for `NodeClusterSocket.layer` and the like; `own` replaces
 * single options. With Effect's defaults this takes half a minute, and the dead runner's messages continue ten seconds after that.
 *
 * @category settings
 * @since 0.1.0
 */
export const sharding = (own: Settings = {}): Settings => ({
  shardLockExpiration: Duration.seconds(6),
  shardLockRefreshInterval: Duration.seconds(2),
  runnerHealthCheckInterval: Duration.seconds(2),
  refreshAssignmentsInterval: Duration.seconds(1),
  entityMessagePollInterval: Duration.seconds(1),
  entityReplyPollInterval: Duration.millis(100),
  ...own
})
