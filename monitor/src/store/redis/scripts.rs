//! The scripts that run in the store. Each checks first and writes last: there is no way back in a script.
//!
//! They are called by the hash of their text; a node that does not know one yet is sent it, and asked again.

use std::sync::LazyLock;
use std::time::Duration;

use redis::Value;

use super::cluster::{Call, Cluster, Tail, begin, packed, push};
use super::failure::Failure;
use super::layout;
use super::patience::Patience;
use crate::store::Slot;

/// How long a master may wait for its replicas before it says how many there are.
const REPLICAS_TAKE: Duration = Duration::from_secs(1);

/// Writes changes into a slot, once: a head has the epoch of the slot's writer and the number of its last write.
///
/// `KEYS`: the head, a key that is never there, the keys to be changed. `ARGV`: epoch, number of the slot's write before this,
/// number of this one, then for each change its verb, the number of its key, how many words follow, and those.
///
/// The head is written even when the rest was before: what follows a write in the replicas has to be waited for again.
const WRITE: &str = r"
local head = redis.call('HMGET', KEYS[1], 'e', 'n')
local epoch, number = tonumber(ARGV[1]), tonumber(ARGV[3])
local known, at = tonumber(head[1] or '0'), 0
if known > epoch then return redis.error_reply('STALE ' .. head[1]) end
if known == epoch then at = tonumber(head[2] or '0') end
if at < number then
  if at < tonumber(ARGV[2]) then return redis.error_reply('BEHIND ' .. at) end
  local i = 4
  while i <= #ARGV do
    local verb, key, count = ARGV[i], KEYS[tonumber(ARGV[i + 1])], tonumber(ARGV[i + 2])
    local first, last = i + 3, i + 2 + count
    if verb == 's' then redis.call('HSET', key, unpack(ARGV, first, last))
    elseif verb == 'd' then redis.call('HDEL', key, unpack(ARGV, first, last))
    elseif verb == 'r' then
      for j = first, last, 2 do redis.call('ZREMRANGEBYLEX', key, ARGV[j], ARGV[j + 1]) end
    elseif verb == 'z' then redis.call('ZADD', key, unpack(ARGV, first, last))
    elseif verb == 'i' then
      for j = first, last, 2 do redis.call('HINCRBY', key, ARGV[j], ARGV[j + 1]) end
    end
    i = last + 1
  end
  at = number
end
redis.call('HSET', KEYS[1], 'e', ARGV[1], 'n', at)
return at
";

/// Gives a slot to a later epoch: from then on nobody writes into it under an earlier one.
const FENCE: &str = r"
local known, epoch = tonumber(redis.call('HGET', KEYS[1], 'e') or '0'), tonumber(ARGV[1])
if known > epoch then return redis.error_reply('STALE ' .. known) end
if known < epoch then redis.call('HSET', KEYS[1], 'e', ARGV[1], 'n', '0') end
return epoch
";

/// Takes the frontier, where its owner is the one that was seen: `ARGV` has the epoch and the beat that were seen, and the name
/// and the address of the new owner.
const TAKE: &str = r"
local seen = redis.call('HMGET', KEYS[1], 'epoch', 'beat')
local epoch, beat = seen[1] or '0', seen[2] or '0'
if epoch ~= ARGV[1] or beat ~= ARGV[2] then return 0 end
local next = tonumber(epoch) + 1
redis.call('HSET', KEYS[1], 'epoch', next, 'beat', '0', 'node', ARGV[3], 'address', ARGV[4], 'free', '0')
return next
";

/// The owner says that it is alive (`ARGV`: epoch, 0), or that it is not any more (epoch, 1).
const BEAT: &str = r"
local epoch = redis.call('HGET', KEYS[1], 'epoch') or '0'
if epoch ~= ARGV[1] then return redis.error_reply('STALE ' .. epoch) end
redis.call('HINCRBY', KEYS[1], 'beat', 1)
redis.call('HSET', KEYS[1], 'free', ARGV[2])
return 1
";

/// Keeps a book of the owner's: `KEYS` has the owner and the books, `ARGV` the epoch, the book's name and its content.
const KEEP: &str = r"
local epoch = redis.call('HGET', KEYS[1], 'epoch') or '0'
if epoch ~= ARGV[1] then return redis.error_reply('STALE ' .. epoch) end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
return 1
";

pub struct Script {
    text: &'static str,
    hash: String,
}

impl Script {
    fn new(text: &'static str) -> Self {
        Self { text, hash: redis::Script::new(text).get_hash().to_owned() }
    }

    pub fn call(&self, slot: Slot, keys: &[&[u8]], arguments: &[&[u8]]) -> Call {
        let mut command = Vec::new();
        begin(&mut command, 3 + keys.len() + arguments.len());
        push(&mut command, b"EVALSHA");
        push(&mut command, self.hash.as_bytes());
        push(&mut command, keys.len().to_string().as_bytes());
        keys.iter().chain(arguments).for_each(|word| push(&mut command, word));
        Call { slot, command }
    }
}

pub static WRITING: LazyLock<Script> = LazyLock::new(|| Script::new(WRITE));
static FENCING: LazyLock<Script> = LazyLock::new(|| Script::new(FENCE));
static TAKING: LazyLock<Script> = LazyLock::new(|| Script::new(TAKE));
static BEATING: LazyLock<Script> = LazyLock::new(|| Script::new(BEAT));
static KEEPING: LazyLock<Script> = LazyLock::new(|| Script::new(KEEP));

/// Makes the scripts known to all masters that there are now.
pub fn load(cluster: &mut Cluster) {
    for script in [&WRITING, &FENCING, &TAKING, &BEATING, &KEEPING] {
        cluster.ask_masters(&[b"SCRIPT", b"LOAD", script.text.as_bytes()]);
    }
}

/// Runs calls that may be repeated, until all are answered.
pub fn run(cluster: &mut Cluster, calls: &[Call], patience: &mut Patience) -> Result<Vec<Value>, Failure> {
    match cluster.try_all(calls, None).into_iter().collect() {
        Ok(values) => return Ok(values),
        Err(Failure::NoScript | Failure::Moved) => load(cluster),
        Err(failure) => {
            if let Failure::Refused(_) | Failure::Stale(_) = failure {
                return Err(failure);
            }
            cluster.wait(&failure, patience)?;
            load(cluster);
        }
    }
    loop {
        match cluster.ask_all(calls, patience) {
            // A master that has only just become one.
            Err(Failure::NoScript) => load(cluster),
            answered => return answered,
        }
    }
}

pub fn fence(slot: Slot, epoch: u64) -> Call {
    FENCING.call(slot, &[&layout::head(slot)], &[epoch.to_string().as_bytes()])
}

pub fn take(epoch: u64, beat: u64, node: &str, address: &str) -> Call {
    let seen = [epoch.to_string(), beat.to_string()];
    let words = [seen[0].as_bytes(), seen[1].as_bytes(), node.as_bytes(), address.as_bytes()];
    TAKING.call(Slot::HOME, &[&layout::owner()], &words)
}

pub fn beat(epoch: u64, is_last: bool) -> Call {
    let last: &[u8] = if is_last { b"1" } else { b"0" };
    BEATING.call(Slot::HOME, &[&layout::owner()], &[epoch.to_string().as_bytes(), last])
}

pub fn keep(epoch: u64, book: &str, content: &[u8]) -> Call {
    let epoch = epoch.to_string();
    KEEPING.call(Slot::HOME, &[&layout::owner(), &layout::books()], &[epoch.as_bytes(), book.as_bytes(), content])
}

/// Confirms that replicas have what was written over the same connection; `None` where no replica is asked for.
pub fn confirmed_by(replicas: u32) -> Option<Tail> {
    let takes = REPLICAS_TAKE.as_millis().to_string();
    let accept = move |reply: &Value| match reply {
        Value::Int(have) if *have >= i64::from(replicas) => Ok(()),
        Value::Int(have) => {
            Err(Failure::Busy(format!("{have} of {replicas} replicas confirm what is written to a master")))
        }
        _ => Err(Failure::Refused("WAIT was answered with something else than a number".to_owned())),
    };
    let command = packed(&[b"WAIT", replicas.to_string().as_bytes(), takes.as_bytes()]);
    (replicas > 0).then(|| Tail { command, accept: Box::new(accept) })
}
