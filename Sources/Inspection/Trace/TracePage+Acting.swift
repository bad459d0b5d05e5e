// SPDX-License-Identifier: Apache-2.0

extension TracePage {
    /// The part of the script that handles keys, pointers and newer traces.
    static let acting = #"""
        function figures(n){
          const s=n.span,x=s.exchange,list=[["begins at",time(n.start)],
            ["time",time(n.end-n.start)+(s.duration===undefined?", under way":"")],
            ["own time",time(n.ownTime)]];
          if(outcome(s))list.push(["outcome",outcome(s)]);
          if(x){
            for(const c of n.children)list.push([c.span.name,time(c.end-c.start)]);
            if(x.bytesSent)list.push(["sent",bytes(x.bytesSent)]);
            list.push(["received",bytes(x.bytesReceived)]);
          }
          return list;
        }
        function showTip(n,x,y){
          const tip=$("tip");
          tip.replaceChildren(el("b","",clean(n.span.name)));
          for(const[name,value]of figures(n)){
            const line=el("div");
            line.append(el("span","",clean(name)),el("span","",clean(value)));
            tip.append(line);
          }
          if(n.span.message)tip.append(el("p","bad",clean(n.span.message)));
          tip.hidden=false;
          const w=tip.offsetWidth,h=tip.offsetHeight;
          tip.style.left=Math.max(4,Math.min(x,innerWidth-w-8))+"px";
          tip.style.top=(y+h+24>innerHeight?Math.max(4,y-h-12):y+18)+"px";
        }
        function hideTip(){$("tip").hidden=true}
        function table(title,list){
          if(!list.length)return[];
          const t=el("table");
          for(const[name,value]of list){
            const r=el("tr"),h=el("th","",clean(name));
            h.scope="row";
            r.append(h,el("td","",clean(value)));
            t.append(r);
          }
          return[el("h3","",title),t];
        }
        function showDetails(n){
          state.details=n.key;
          const s=n.span,x=s.exchange,box=$("details");
          const close=el("button","","×");
          close.id="close";close.type="button";close.setAttribute("aria-label","Close the details");
          close.onclick=hideDetails;
          const parts=[close,el("h2","",clean(s.name))];
          if(s.message)parts.push(el("p","bad",clean(s.message)));
          const about=[["kind",s.kind+(s.attempt?" "+s.attempt:"")],["call",n.trace.id],
            ["call began",n.trace.date]];
          parts.push(...table("Figures",[...figures(n).filter(f=>!x||!n.children.some(
            c=>c.span.name===f[0])),...about]));
          if(x){
            parts.push(...table("Phases",n.children.map(c=>[c.span.name,time(c.end-c.start)])));
            const known=[["URL",x.url],["HTTP version",x.protocolVersion],["peer",x.peerAddress],
              ["connection reused",x.isConnectionReused],["request content",x.requestBodyBytes],
              ["encoded content",x.encodedBodyBytes]].filter(f=>f[1]!==undefined);
            parts.push(...table("Exchange",known.map(([k,v])=>[k,typeof v==="number"?bytes(v):v])));
            parts.push(...table("Request fields",x.requestHeaders));
            parts.push(...table("Response fields",x.responseHeaders||[]));
            parts.push(...table("Content as it was read",(x.chunks||[]).map(c=>
              [time(c.start)+" to "+time(c.end),bytes(c.bytes)+" in "+c.count])));
          }
          box.replaceChildren(...parts);
          box.hidden=false;
        }
        function hideDetails(){
          const was=state.details;
          state.details=null;$("details").hidden=true;
          draw();
          if(was)focused()?.row.focus();
        }
        function focus(n){
          if(!n)return;
          const old=focused();
          if(old&&old.row)old.row.tabIndex=-1;
          state.focus=n.key;
          n.row.tabIndex=0;
          n.row.focus();
          n.row.scrollIntoView({block:"nearest"});
          const box=n.row.getBoundingClientRect();
          showTip(n,box.left+box.width*.3,box.bottom-12);
        }
        function setOpen(n,open){state.open.set(n.key,open);draw();focus(n)}
        function zoom(){
          const n=focused();
          if(!n)return;
          const room=Math.max((n.end-n.start)*.02,1e-6);
          state.view=[shift(n)+n.start-room,shift(n)+n.end+room];
          draw();
        }
        function showAll(){state.view=null;draw()}
        function align(){state.aligned=!state.aligned;state.isChosen=true;showAll()}
        function unfold(){
          const open=!calls.some(isOpen);
          for(const c of calls)state.open.set(c.key,open);
          draw();
        }
        function key(event){
          if(event.ctrlKey||event.metaKey||event.altKey)return;
          const inField=event.target.tagName==="INPUT";
          if(event.key==="Escape"){
            if(state.details)hideDetails();
            else{hideTip();if(inField)focused()?.row.focus()}
            return;
          }
          if(inField||event.target.tagName==="BUTTON"&&event.key==="Enter")return;
          const n=focused(),at=rows.indexOf(n);
          const actions={
            ArrowDown:()=>focus(rows[Math.min(at+1,rows.length-1)]),
            ArrowUp:()=>focus(rows[Math.max(at-1,0)]),
            Home:()=>focus(rows[0]),End:()=>focus(rows[rows.length-1]),
            ArrowRight:()=>!n.children.length?0:isOpen(n)?focus(n.children[0]):setOpen(n,true),
            ArrowLeft:()=>isOpen(n)?setOpen(n,false):focus(n.parent),
            Enter:()=>{showDetails(n);draw();hideTip();$("details").focus()},
            z:zoom,"0":showAll,a:align,x:unfold,
          };
          const action=actions[event.key]||actions[event.key.toLowerCase()];
          if(!action||!n)return;
          if(event.key.startsWith("Arrow")&&event.target.closest("#details"))return;
          event.preventDefault();
          action();
        }
        const nodeAt=target=>{
          const e=target.closest&&target.closest(".row[data-key]");
          return e&&rows.find(n=>n.key===e.dataset.key);
        };
        document.addEventListener("keydown",key);
        addEventListener("resize",()=>draw());
        $("grid").addEventListener("mousemove",event=>{
          const n=nodeAt(event.target);
          if(n)showTip(n,event.clientX+14,event.clientY);else hideTip();
        });
        $("grid").addEventListener("mouseleave",hideTip);
        $("grid").addEventListener("focusout",hideTip);
        $("grid").addEventListener("click",event=>{
          const n=nodeAt(event.target);
          if(!n)return;
          state.focus=n.key;
          if(event.target.classList.contains("fold"))return setOpen(n,!isOpen(n));
          showDetails(n);draw();focused().row.focus({preventScroll:true});
        });
        $("all").onclick=showAll;$("zoom").onclick=zoom;$("align").onclick=align;
        $("unfold").onclick=unfold;
        $("filter").oninput=()=>{state.filter=$("filter").value;draw()};

        function show(traces,note){
          calls=read(traces);
          if(!state.isChosen)state.aligned=areSparse();
          draw();legend();summary(note);
          const n=rows.find(r=>r.key===state.details);
          if(n)showDetails(n);
        }
        $("title").textContent=page.title;
        show(page.traces);
        if(page.source){
          let last="",tag="";
          const ask=async()=>{
            try{
              const answer=await fetch(page.source,
                {cache:"no-store",headers:tag?{"If-None-Match":tag}:{}});
              // 304: nothing has changed.
              if(answer.status!==304){
                if(!answer.ok)throw new Error(answer.status);
                const text=await answer.text();
                tag=answer.headers.get("ETag")||"";
                if(text!==last){
                  // Until the user chooses a view, the view grows with the calls.
                  if(!state.view||String(state.view)===String(whole()))state.view=null;
                  last=text;
                  show(JSON.parse(text),"live");
                }
              }
              setTimeout(ask,1000);
            }catch{summary("the server has stopped; what it had shown stays")}
          };
          ask();
        }
        """#
}
