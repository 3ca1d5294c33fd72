//! How a machine becomes one that may be the Monitor: it is a member of the cluster, and has the key that opens the authority's
//! book in the store.
//!
//! A machine that joins gets both from the Monitor. The first of a cluster makes them: it owns the frontier for as long as that
//! takes, and then asks for it again under the name that it has got.

use std::sync::Arc;

use seine_node::identity::{ClusterKey, OwnIdentity};
use seine_node::joining::{self, JoinError};
use seine_node::transport::monitors::Monitors;
use tokio::time::sleep;

use super::{Joining, LOOK_EVERY, Running};
use crate::failure::{Failure, Result};
use crate::node;
use crate::process::cluster::{AUTHORITY_DIR, open_books};
use crate::process::frontier::{self, Owned};

impl Running {
    /// Who this machine is. `None` when it is asked to stop before that is known.
    pub(super) async fn member(&mut self) -> Result<Option<OwnIdentity>> {
        let stop = self.shutdown.token.clone();
        let becoming = async {
            match self.known()? {
                Some(own) if self.has_key()? => Ok(own),
                known => match self.asked.joining.take() {
                    Some(joining) => self.join(known, joining).await,
                    None => self.begin().await,
                },
            }
        };
        tokio::select! {
            own = becoming => own.map(Some),
            () = stop.cancelled() => Ok(None),
        }
    }

    fn has_key(&self) -> Result<bool> {
        let key = ClusterKey::load(&self.asked.data.root().join(AUTHORITY_DIR));
        Ok(key.map_err(Failure::failed)?.is_some())
    }

    async fn join(&mut self, known: Option<OwnIdentity>, joining: Joining) -> Result<OwnIdentity> {
        let Joining { monitor, token } = joining;
        let own = node::identity_of(known, &monitor, token, &self.asked.roles, &self.identity).await?;
        let monitors = Monitors::open(&self.identity, [monitor]).map_err(Failure::failed)?;
        let key = loop {
            match joining::cluster_key(&monitors, &own).await {
                Ok(key) => break key,
                Err(JoinError::Away { address, reason }) => {
                    eprintln!("cannot reach {address}: {reason}; trying again");
                    sleep(2 * LOOK_EVERY).await;
                }
                Err(error) => return Err(Failure::failed(format!("refused: {error}"))),
            }
        };
        let directory = self.asked.data.tier(AUTHORITY_DIR)?;
        key.save(&directory).map_err(Failure::failed)?;
        Ok(own)
    }

    /// The first of its cluster, or one that has the key and lost its name.
    async fn begin(&mut self) -> Result<OwnIdentity> {
        let address = self.asked.door.address.clone();
        let Some(ownership) = frontier::own_within(&self.store, &frontier::no_node(), &address).await? else {
            let owner = self.owner().await;
            let whose = owner.as_ref().map_or_else(|| "another machine".to_owned(), frontier::named);
            return Err(Failure::failed(format!(
                "the Monitor is {whose}, and this machine has not joined its cluster, so it cannot stand by; run `seine nodes \
                 token create --roles monitor` there, and what it prints here"
            )));
        };
        let owned = Owned { store: self.store.clone(), ownership: Arc::new(ownership) };
        let opened = open_books(&self.asked.data, &self.asked.roles, Some(owned.ownership.shelf())).await;
        owned.release().await;
        opened.map(|(_, renewal)| renewal.own)
    }
}
